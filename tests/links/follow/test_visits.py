"""One table: status and headers for each kind of link and each HTTP method."""

from typing import Any

import pytest
from django.utils import timezone

from catalogue.ids import uuid7
from links.manage import stopping
from links.models import Link
from tests.factories import LinkFactory
from tests.links.visiting import Ask, counted, in_seconds

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls("tests.links.visiting")]

QUIET = {
    "Cache-Control": "private, no-store",
    "X-Robots-Tag": "noindex, nofollow",
    "Referrer-Policy": "no-referrer",
}
POLICY = "default-src 'none'; style-src 'self'"
PAGE = {"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": POLICY}
BUTTON = {
    **PAGE,
    "Content-Security-Policy": (
        f"{POLICY}; script-src 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
}
ABOUT = {
    **PAGE,
    "Content-Security-Policy": (
        f"{POLICY}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
}
READS = {"Allow": "GET, HEAD"}
WITH_FORM = {"Allow": "GET, HEAD, POST"}
TARGET = {"Location": "https://example.com/a"}
LATER = {"Location": "https://example.com/later"}


def make(state: str) -> str:
    """The path of a link in this state."""
    fields: dict[str, Any] = {"url": TARGET["Location"], "batch_id": uuid7()}
    fields_of: dict[str, dict[str, Any]] = {
        "unknown": {},
        "live": {},
        "disabled": {"disabled_at": timezone.now(), "expired_url": LATER["Location"]},
        "expired": {"expires_at": in_seconds(-1)},
        "expired elsewhere": {"expires_at": in_seconds(-1), "expired_url": LATER["Location"]},
        "stopped": {"expires_at": in_seconds(-1), "expired_url": LATER["Location"]},
        "batch stopped": {},
        "once": {"is_once": True},
        "used": {"is_once": True, "used_at": timezone.now(), "expired_url": LATER["Location"]},
        "once, expired": {"is_once": True, "expires_at": in_seconds(-1)},
        "once, expired elsewhere": {
            "is_once": True,
            "expires_at": in_seconds(-1),
            "expired_url": LATER["Location"],
        },
    }
    link: Link = LinkFactory.create(**fields | fields_of[state])
    if "stopped" in state:
        batch_id = link.batch_id if state == "batch stopped" else None
        stopping.stop(company=link.company, batch_id=batch_id)
    return "/zzzzzzzz" if state == "unknown" else f"/{link.slug}"


TABLE = [
    ("live", "GET", 302, TARGET),
    ("live", "POST", 405, READS),
    ("live", "PUT", 405, READS),
    ("unknown", "GET", 404, PAGE),
    ("unknown", "POST", 405, READS),
    ("disabled", "GET", 410, PAGE),
    ("disabled", "POST", 405, READS),
    ("expired", "GET", 410, PAGE),
    ("expired", "DELETE", 405, READS),
    ("expired elsewhere", "GET", 302, LATER),
    ("expired elsewhere", "POST", 405, READS),
    ("stopped", "GET", 410, PAGE),
    ("batch stopped", "GET", 410, PAGE),
    ("once", "GET", 200, BUTTON),
    ("once", "POST", 403, BUTTON),
    ("once", "OPTIONS", 405, WITH_FORM),
    ("used", "GET", 410, PAGE),
    ("used", "POST", 410, PAGE),
    ("used", "PATCH", 405, WITH_FORM),
    ("once, expired", "GET", 410, PAGE),
    ("once, expired", "POST", 410, PAGE),
    ("once, expired elsewhere", "GET", 302, LATER),
    ("once, expired elsewhere", "POST", 303, LATER),
]


def test_response_is_exact(ask: Ask) -> None:
    for state, method, status, headers in TABLE:
        answered_status, answered, body = ask(make(state), method=method)

        case = (state, method)
        assert answered_status == status, case
        assert {name: answered.get(name) for name in headers | QUIET} == headers | QUIET, case
        assert answered["Content-Length"] == str(len(body)), case
        assert bool(body) == ("Content-Type" in headers) == ("Content-Type" in answered), case
        assert ("Location" in answered) == ("Location" in headers), case
        assert ("Allow" in answered) == ("Allow" in headers), case


def test_head_headers_match_get(ask: Ask) -> None:
    for state in dict.fromkeys(state for state, *_ in TABLE):
        path = make(state)

        get = ask(path)
        head = ask(path, method="HEAD")

        lengths = [abs(int(response[1].pop("Content-Length"))) for response in (get, head)]
        assert (state, *head) == (state, get[0], get[1], b"")
        assert lengths[0] == lengths[1], state


PREVIEWS = [
    ("live", 200, ABOUT),
    ("once", 200, ABOUT),
    ("unknown", 404, PAGE),
    ("disabled", 410, PAGE),
    ("expired", 410, PAGE),
    ("expired elsewhere", 410, PAGE),
    ("stopped", 410, PAGE),
    ("batch stopped", 410, PAGE),
    ("used", 410, PAGE),
]


def test_preview_response_is_exact(ask: Ask) -> None:
    for state, status, headers in PREVIEWS:
        answered_status, answered, body = ask(f"{make(state)}+")

        assert answered_status == status, state
        assert {name: answered.get(name) for name in headers | QUIET} == headers | QUIET, state
        assert ("example.com" in body.decode()) == (status == 200), state
    assert counted() == []


@pytest.mark.parametrize("accepted", ["ru", "en"])
def test_page_of_a_dead_link_is_small_and_names_no_target(ask: Ask, accepted: str) -> None:
    for state in ("disabled", "expired", "stopped", "used", "once, expired"):
        _, _, body = ask(make(state), HTTP_ACCEPT_LANGUAGE=accepted)

        page = body.decode()
        assert len(body) < 2048, state
        assert (page.count("<link"), page.count("<script"), page.count("<img")) == (1, 0, 0), state
        assert "example.com" not in page, state
        assert "410" not in page, state  # which says nothing to a person
        assert ("Ссылка больше не" in page, "his link" in page) == (True, True), state


def test_only_redirects_to_the_target_count_as_clicks(ask: Ask) -> None:
    for state in ("expired elsewhere", "disabled", "stopped", "once", "unknown"):
        ask(make(state))

    assert counted() == []
