"""The origin's side of edges: a token opens what visitors may see, and nothing else."""

from typing import Any

import orjson
import pytest
from django.test import Client
from pytest_django import Settings

from links.follow import edge_calls
from links.follow.cached_row import unpack
from links.follow.edge_calls import ForwardedVisit, SlugQuestion
from links.manage import stopping
from tests.factories import LinkFactory

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "s" * 32


@pytest.fixture(autouse=True)
def _tokens(settings: Settings) -> None:
    settings.EDGE_TOKENS = {"e1": SECRET.encode()}


def ask(path: str, body: bytes, token: str = f"Bearer e1:{SECRET}") -> Any:
    return Client().post(
        f"/{path}", body, content_type="application/json", headers={"Authorization": token}
    )


@pytest.mark.parametrize("path", [edge_calls.PING, edge_calls.RESOLVE, edge_calls.VISIT])
@pytest.mark.parametrize(
    "token",
    ["", f"e1:{SECRET}", f"Basic e1:{SECRET}", "Bearer e1:", f"Bearer e2:{SECRET}", "Bearer ы"],
)
def test_token_that_is_not_known_is_refused(path: str, token: str) -> None:
    assert ask(path, b"{}", token).status_code == 401


def test_nobody_is_let_in_without_tokens(settings: Settings) -> None:
    settings.EDGE_TOKENS = {}

    assert ask(edge_calls.PING, b"{}").status_code == 401


def test_ping_answers() -> None:
    assert ask(edge_calls.PING, b"{}").status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"slug": 7, "host_id": null}',
        b'{"slug": "a/b", "host_id": null}',
        b'{"slug": "bcdf", "host_id": "1"}',
        b'{"slug": "bc\\u0000df", "host_id": null}',
    ],
)
def test_question_that_is_none_is_refused(body: bytes) -> None:
    assert ask(edge_calls.RESOLVE, body).status_code == 400


def test_row_of_a_link_and_of_none() -> None:
    link = LinkFactory.create()

    found = ask(edge_calls.RESOLVE, SlugQuestion(link.slug, None).pack())
    missing = ask(edge_calls.RESOLVE, SlugQuestion("nobody-7", None).pack())

    row = unpack(found.content)
    assert row is not None
    assert row.target.url == link.url
    assert unpack(missing.content) is None


def test_row_of_a_stopped_link_is_dead() -> None:
    link = LinkFactory.create()
    stopping.stop(company=link.company)

    row = unpack(ask(edge_calls.RESOLVE, SlugQuestion(link.slug, None).pack()).content)

    assert row is not None
    assert row.target.url == ""


def test_visit_is_answered_with_what_an_edge_may_tell_of_it() -> None:
    link = LinkFactory.create(is_once=True)
    environ = {
        "REQUEST_METHOD": "GET",
        "HTTP_HOST": "go.test",
        "HTTP_COOKIE": "x",
        "REMOTE_ADDR": "::1",
    }

    packed = ForwardedVisit(link.slug, None, environ, "").pack()
    answered = edge_calls.read_response(ask(edge_calls.VISIT, packed).content)

    assert "HTTP_COOKIE" not in edge_calls.read_visit(packed).environ
    assert answered.status == "200 OK"
    assert b'name="nonce"' in answered.body


@pytest.mark.parametrize("environ", [{}, {"REQUEST_METHOD": 1}, []])
def test_visit_that_is_none_is_refused(environ: object) -> None:
    body = orjson.dumps({"text": "x", "host_id": None, "environ": environ, "form": ""})

    assert ask(edge_calls.VISIT, body).status_code == 400
