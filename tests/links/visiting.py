"""Follows links as a visitor would, through the middleware and through the view."""

import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from io import BytesIO
from typing import Any
from urllib.parse import urlencode
from wsgiref.types import StartResponse, WSGIEnvironment
from wsgiref.util import setup_testing_defaults

import orjson
from django.http import HttpResponse
from django.test import Client
from django.urls import path
from django.utils import timezone
from pytest_django import Settings

from links.clicks import buffer as click_buffer
from links.follow.redirect import RedirectMiddleware, follow
from storage.redis_client import blocking_redis_client, redis_client

BROWSER = (
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko)"
    " Chrome/140.0.0.0 Mobile Safari/537.36"
)
BROWSER_HEADERS = {
    "User-Agent": BROWSER,
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Accept-Language": "ru",
    "Sec-Fetch-Site": "none",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Dest": "document",
}
BROWSER_ENVIRON = {
    f"HTTP_{name.upper().replace('-', '_')}": value for name, value in BROWSER_HEADERS.items()
}


def pricing(_request: object) -> HttpResponse:
    return HttpResponse("prices")


urlpatterns = [path("", pricing, name="home"), path("pricing", pricing), path("<str:slug>", follow)]

Response = tuple[int, dict[str, str], bytes]
Ask = Callable[..., Response]


FORM = "application/x-www-form-urlencoded"


def call(
    text: str,
    *,
    method: str = "GET",
    query: str = "",
    host: str = "testserver",
    form: dict[str, str] | None = None,
    **headers: str,
) -> Response:
    environ = environ_of(text, method=method, query=query, host=host, form=form, **headers)
    started: list[tuple[int, dict[str, str]]] = []

    def start_response(status: str, pairs: list[tuple[str, str]], _error: object = None) -> Any:
        started.append((int(status[:3]), dict(pairs)))

    page = b"".join(RedirectMiddleware(passed_on)(environ, start_response))
    ((status, answered),) = started
    return status, answered, page


def environ_of(
    text: str,
    *,
    method: str = "GET",
    query: str = "",
    host: str = "testserver",
    form: dict[str, str] | None = None,
    **headers: str,
) -> WSGIEnvironment:
    body = urlencode(form or {}).encode()
    environ: dict[str, Any] = {
        "REQUEST_METHOD": method,
        "PATH_INFO": text.encode().decode("latin-1"),
        "QUERY_STRING": query,
        "HTTP_HOST": host,
        "REMOTE_ADDR": "127.0.0.1",
        "CONTENT_TYPE": FORM,
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": BytesIO(body),
        **BROWSER_ENVIRON,
        **headers,
    }
    setup_testing_defaults(environ)
    return environ


def passed_on(_environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    start_response("299 Passed on", [])
    return [b"django"]


def view(
    text: str,
    *,
    method: str = "GET",
    query: str = "",
    host: str = "testserver",
    form: dict[str, str] | None = None,
    **headers: str,
) -> Response:
    known: dict[str, Any] = {"HTTP_HOST": host, **BROWSER_ENVIRON, **headers}
    response = Client().generic(
        method, text, urlencode(form or {}), FORM, QUERY_STRING=query, **known
    )
    return response.status_code, dict(response.headers), response.content


@contextmanager
def without_redis(settings: Settings) -> Iterator[None]:
    url, settings.REDIS_URL = settings.REDIS_URL, "unix:///nowhere/redis.sock"
    redis_client.cache_clear()
    blocking_redis_client.cache_clear()
    yield
    settings.REDIS_URL = url
    redis_client.cache_clear()
    blocking_redis_client.cache_clear()


def entries() -> list[tuple[bytes, dict[bytes, bytes]]]:
    result: Any = redis_client().xrange(click_buffer.STREAM)
    return list(result)


def counted(buffer: click_buffer.ClickBuffer = click_buffer._buffer) -> list[tuple[str, str]]:
    buffer.flush()
    batches = [orjson.loads(fields[b"batch"]) for _, fields in entries()]
    return [(link_id, kind) for batch in batches for link_id, kind, *_rest in batch]


def in_seconds(seconds: float) -> datetime:
    return timezone.now() + timedelta(seconds=seconds)


def wait_until(is_done: Callable[[], bool], seconds: float = 25.0) -> bool:
    """Waits patiently, because the machine may be busy and the tests do not measure time."""
    deadline = time.monotonic() + seconds
    while not is_done() and time.monotonic() < deadline:
        time.sleep(0.01)
    return is_done()


NONCE = re.compile(r'name="nonce" value="([^"]+)"')


def nonce_of(page: bytes) -> str:
    match = NONCE.search(page.decode())
    assert match
    return match[1]
