"""Any bytes as the path of a link get an answer."""

from io import BytesIO
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pytest_django import Settings

from links.follow import redirect
from tests.factories import LinkFactory
from tests.links.visiting import FORM

pytestmark = pytest.mark.django_db
KNOWN = {200, 302, 303, 400, 403, 404, 405, 410, 429}
SLUG = "bcdfGHJK"

latin = st.text(st.characters(max_codepoint=255), max_size=300)
paths = st.one_of(
    latin,
    latin.map(lambda text: SLUG + text),
    st.text(max_size=60).map(lambda text: SLUG + text.encode("utf-8", "replace").decode("latin-1")),
)
methods = st.sampled_from(["GET", "HEAD", "POST", "PUT", "", "\x00"])


@pytest.fixture(autouse=True)
def _own_host(settings: Settings) -> None:
    settings.SHORT_URL = "https://kvt.example"
    settings.LINK_MISS_LIMIT = (10**9, 600)
    LinkFactory.create(slug=SLUG)
    LinkFactory.create(slug="once-only", is_alias=True, is_once=True)


def ask(path: str, method: str, accepted: str, form: bytes) -> int:
    environ: dict[str, Any] = {
        "REQUEST_METHOD": method,
        "PATH_INFO": f"/{path}",
        "HTTP_HOST": "kvt.example",
        "HTTP_ACCEPT_LANGUAGE": accepted,
        "HTTP_USER_AGENT": accepted,
        "HTTP_REFERER": accepted,
        "REMOTE_ADDR": "203.0.113.7",
        "CONTENT_TYPE": FORM,
        "CONTENT_LENGTH": str(len(form)),
        "wsgi.input": BytesIO(form),
    }
    statuses: list[int] = []

    def start_response(status: str, headers: list[tuple[str, str]], _error: Any = None) -> Any:
        for name, value in headers:
            f"{name}: {value}".encode("latin-1")
            assert not set(value) & set("\r\n\x00")
        statuses.append(int(status[:3]))

    application = redirect.RedirectMiddleware(lambda _environ, _start: [])
    b"".join(application(environ, start_response))
    return statuses[0]


@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(path=paths, method=methods, accepted=latin, form=st.binary(max_size=200))
@example(path=f"{SLUG}\x00", method="GET", accepted="", form=b"")
@example(path=f"{SLUG}%00", method="GET", accepted="", form=b"")
@example(path=f"{SLUG}%C3%28", method="GET", accepted="", form=b"")
@example(path=f"{SLUG}\xff\xfe", method="GET", accepted="", form=b"")
@example(path=f"{SLUG}\xed\xa0\x80", method="GET", accepted="", form=b"")
@example(path=f"{SLUG}+\x00", method="POST", accepted="", form=b"reason=spam&nonce=%00")
@example(path=f"{SLUG}+", method="POST", accepted="", form=b"reason=\xff&words=%ED%A0%80")
@example(path="once-only", method="POST", accepted="", form=b"nonce=\xff%FF")
@example(path="%2B" * 90, method="GET", accepted="", form=b"")
@example(path="//evil.example/%2e%2e", method="GET", accepted="", form=b"")
def test_arbitrary_bytes_never_fail(path: str, method: str, accepted: str, form: bytes) -> None:
    assert ask(path, method, accepted, form) in KNOWN
