"""One table of cases for both the middleware and the Django view."""

from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from links.follow import resolution
from tests.factories import LinkFactory
from tests.links.visiting import Ask, call, in_seconds, view

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.links.visiting")]


def test_live_link_redirects(ask: Ask) -> None:
    link = LinkFactory.create(url="https://example.com/a?b=1#c")

    status, headers, body = ask(f"/{link.slug}")

    assert (status, body) == (302, b"")
    assert headers["Location"] == "https://example.com/a?b=1#c"
    assert headers["Content-Length"] == "0"
    assert headers["Cache-Control"] == "private, no-store"
    assert headers["X-Robots-Tag"] == "noindex, nofollow"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "Content-Type" not in headers


def test_query_string_is_ignored(ask: Ask) -> None:
    link = LinkFactory.create(url="https://example.com/")

    _, headers, _ = ask(f"/{link.slug}", query="url=https://evil.example&redir_url=//evil.example")

    assert headers["Location"] == "https://example.com/"


@pytest.mark.parametrize("query", ["&utm_source=sms", "%3Fa=b"])
def test_query_that_is_misspelt_is_ignored_too(ask: Ask, query: str) -> None:
    link = LinkFactory.create(url="https://example.com/?a=1")

    status, headers, _ = ask(f"/{link.slug}{query}")

    assert (status, headers["Location"]) == (302, "https://example.com/?a=1")


@pytest.mark.parametrize("end", [".", "\u200b", ",%E2%80%9D"])
def test_trailing_punctuation_is_ignored_in_a_path(ask: Ask, end: str) -> None:
    link = LinkFactory.create()

    assert ask(f"/{link.slug}{end}")[0] == 302


def test_alias_is_followed_in_any_case(ask: Ask) -> None:
    link = LinkFactory.create(slug="Summer-Sale", is_alias=True)

    statuses = [ask(f"/{text}")[0] for text in ("Summer-Sale", "summer-sale", "SUMMER-SALE")]

    assert link.key == "summer-sale"
    assert statuses == [302, 302, 302]


def test_generated_slug_is_case_sensitive(ask: Ask) -> None:
    LinkFactory.create(slug="bcdfGHJK")
    LinkFactory.create(slug="wxyzbcdf")

    assert ask("/bcdfGHJK")[0] == 302
    assert ask("/bcdfghjk")[0] == 404
    assert ask("/WXYZBCDF")[0] == 404


def test_exact_slug_takes_precedence_over_an_alias_of_another_case(ask: Ask) -> None:
    LinkFactory.create(slug="mnpqMNPQ", is_alias=True, url="https://example.com/alias")
    LinkFactory.create(slug="MNPQMNPQ", url="https://example.com/exact")

    assert ask("/MNPQMNPQ")[1]["Location"] == "https://example.com/exact"
    assert ask("/mnpqmnpq")[1]["Location"] == "https://example.com/alias"


def test_retired_link_is_not_found(ask: Ask) -> None:
    old = LinkFactory.create(slug="reborn1", is_alias=True, retired_at=timezone.now())
    LinkFactory.create(slug="reborn1", is_alias=True, url="https://example.com/new")

    assert ask(f"/{old.slug}")[1]["Location"] == "https://example.com/new"


@pytest.mark.parametrize(
    ("accepted", "language"),
    [("", "ru"), ("en-GB,en;q=0.9,ru;q=0.5", "en"), ("de,en;q=0.3", "en"), (";;;", "ru")],
)
def test_page_is_in_the_language_of_the_browser(ask: Ask, accepted: str, language: str) -> None:
    _, _, body = ask("/zzzzzzzz", HTTP_ACCEPT_LANGUAGE=accepted)

    assert f'<html lang="{language}">' in body.decode()


@pytest.mark.parametrize(
    "asked",
    [
        {"text": "/parity01"},
        {"text": "/parity01.", "query": "x=1"},
        {"text": "/parity01", "HTTP_COOKIE": "session=x", "HTTP_ACCEPT": "application/json"},
        {"text": "/parity02"},
        {"text": "/parity03", "HTTP_ACCEPT_LANGUAGE": "en"},
    ],
)
def test_middleware_and_view_respond_alike(asked: dict[str, Any]) -> None:
    LinkFactory.create(slug="parity01", is_alias=True)
    LinkFactory.create(slug="parity02", is_alias=True, expires_at=in_seconds(-5))

    first, second = call(**asked), view(**asked)

    assert first[0] == second[0]
    assert first[2] == second[2]
    assert {name: second[1].get(name) for name in first[1]} == first[1]
    assert ("Content-Type" in first[1]) == ("Content-Type" in second[1])


def test_no_reachable_store_is_503(ask: Ask, no_redis: None, settings: Settings) -> None:
    slug = LinkFactory.create().slug
    readers = [resolution._resolver._store._sql_readers] * resolution.SQL_READERS
    for reader in readers:
        reader.acquire()

    try:
        status, headers, body = ask(f"/{slug}")
    finally:
        for reader in readers:
            reader.release()

    assert status == 503
    assert headers["Cache-Control"] == "private, no-store"
    assert headers["Retry-After"] == "2"
    assert int(headers["Content-Length"]) == len(body)


@pytest.mark.parametrize(
    "text",
    [
        "/",
        "",
        "/pricing",
        "/Pricing",
        "/pricing.",
        "/api",
        "/api/v1/otp/send",
        "/ab",
        "/скидка",
        "/favicon.ico",
        "/zzzzzzzz/more",
        "//evil.example",
        "/" + "a" * 65,
        "/" + "z" * 9000,
    ],
)
def test_shared_host_leaves_the_rest_to_django(text: str) -> None:
    assert call(text)[0] == 299


def test_shared_host_ignores_one_trailing_slash() -> None:
    link = LinkFactory.create()

    assert call(f"/{link.slug}/")[0] == 302


@pytest.mark.parametrize("has_own_host", [False, True])
def test_second_slash_in_front_does_no_harm(settings: Settings, has_own_host: bool) -> None:
    """As of `https://kvt.example/` + `/abc`."""
    if has_own_host:
        settings.SHORT_URL = "https://testserver"
    link = LinkFactory.create()

    assert call(f"//{link.slug}")[0] == 302
    assert call("//pricing")[0] == (404 if has_own_host else 299)


@pytest.mark.parametrize("host", ["kvt.example", "KVT.example", "kvt.example:443"])
def test_short_host_answers_every_path(settings: Settings, host: str) -> None:
    settings.SHORT_URL = "https://kvt.example"
    link = LinkFactory.create()

    assert call(f"/{link.slug}", host=host)[0] == 302
    assert [call(text, host=host)[0] for text in ("/", "/pricing", "/a/b", "/wp-login.php")] == [
        404,
        404,
        404,
        404,
    ]


def test_other_hosts_reach_django_beside_short_link_host(settings: Settings) -> None:
    settings.SHORT_URL = "https://kvt.example"
    link = LinkFactory.create()

    assert call(f"/{link.slug}", host="127.0.0.1:8000")[0] == 299
    assert call(f"/{link.slug}", host="evil.kvt.example")[0] == 299
