"""HTTPS enforcement and the security headers of every response."""

import os
import socket
import ssl
from pathlib import Path
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

import orjson
import pytest
from pytest_django import Settings

from api.body_admission import admit, refuse
from processes.server.https import TransportSecurity, is_secure, normalise_forwarded_proto
from processes.server.rsgi_response import Headers
from tests.ports import free_port
from tests.stack.programs import Program
from tests.webhooks.certificates import server_context

HTTPS = {"HTTP_X_FORWARDED_PROTO": "https"}
ASKED = {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "HTTP_HOST": "kvitok.example"}


def application(_environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
    start_response("200 OK", [("Content-Length", "2")])
    return [b"ok"]


def ask(path: str = "/", **environ: str) -> tuple[str, dict[str, str], bytes]:
    started: list[tuple[str, Headers]] = []

    def start_response(status: str, headers: Headers, _info: Any = None) -> Any:
        started.append((status, headers))

    body = TransportSecurity(application, refuse)(
        ASKED | {"PATH_INFO": path} | environ, start_response
    )
    [(status, headers)] = started
    assert len(dict(headers)) == len(headers)
    return status, dict(headers), b"".join(body)


@pytest.fixture
def production(settings: Settings) -> None:
    settings.PRODUCTION = True
    settings.TRUSTED_PROXY_COUNT = 1


@pytest.mark.parametrize("path", ["/api/v1/otp/verify", "/api/", "/api/v1/openapi.json"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_api_over_plain_http_is_refused(production: None, path: str, method: str) -> None:
    status, headers, body = ask(path, REQUEST_METHOD=method, HTTP_ACCEPT_LANGUAGE="en")

    response = orjson.loads(body)
    assert status == "403 Forbidden"
    assert (response["success"], response["code"]) == (False, "https_required")
    assert response["message"].startswith("Requests are accepted over HTTPS only")
    assert headers["X-Request-Id"] == response["request_id"]
    assert "Strict-Transport-Security" not in headers  # RFC 6797 §7.2


@pytest.mark.parametrize("path", ["/hooks/whatsapp", "/hooks/twilio/kz"])
def test_hooks_over_plain_http_are_refused(production: None, path: str) -> None:
    status, headers, body = ask(path, REQUEST_METHOD="POST")

    assert (status, body) == ("403 Forbidden", b"Use https.\n")
    assert headers["Content-Type"].startswith("text/plain")


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
def test_probes_may_ask_in_the_clear(production: None, path: str) -> None:
    status, headers, _ = ask(path)

    assert status == "200 OK"
    assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_pages_and_links_are_led_to_https(production: None, method: str) -> None:
    path = "/cabinet/keys/\xd1\x84 //"

    status, headers, body = ask(path, REQUEST_METHOD=method, QUERY_STRING="a=b&c=%20")

    assert (status, body) == ("301 Moved Permanently", b"")
    assert headers["Location"] == "https://kvitok.example/cabinet/keys/%D1%84%20//?a=b&c=%20"


@pytest.mark.parametrize("host", ["", "evil.example\r\nX: y", "evil.example/path", "user@evil"])
def test_redirect_needs_a_valid_host(production: None, host: str) -> None:
    status, headers, _ = ask(HTTP_HOST=host)

    assert status == "403 Forbidden"
    assert "Location" not in headers


def test_forms_over_plain_http_are_refused_not_redirected(production: None) -> None:
    status, _, body = ask("/account/login/", REQUEST_METHOD="POST")

    assert (status, body) == ("403 Forbidden", b"Use https.\n")


def test_unauthenticated_bodies_are_not_received(production: None) -> None:
    assert admit(ASKED | {"REQUEST_METHOD": "POST"}) is None
    assert admit(ASKED | HTTPS | {"REMOTE_ADDR": "10.0.0.1"}) is not None


@pytest.mark.parametrize("path", ["/", "/api/v1/balance", "/livez", "/Ab3dE"])
def test_every_answer_over_https_has_the_headers(production: None, path: str) -> None:
    _, headers, _ = ask(path, **HTTPS, HTTP_HOST="go.acme.example")

    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Strict-Transport-Security"] == "max-age=31536000"


def test_our_own_hosts_say_so_of_their_subdomains(production: None, settings: Settings) -> None:
    _, headers, _ = ask(**HTTPS, HTTP_HOST="127.0.0.1:8000")

    policy = headers["Strict-Transport-Security"]
    assert policy == "max-age=31536000; includeSubDomains; preload"


def test_development_is_not_bound_to_https() -> None:
    status, headers, _ = ask("/api/v1/balance")

    assert status == "200 OK"
    assert headers == {"Content-Length": "2", "X-Content-Type-Options": "nosniff"}


@pytest.mark.parametrize(
    ("proxies", "header", "expected"),
    [
        (0, "https", False),
        (1, "https", True),
        (1, "http", False),
        (1, "https,http", False),  # a client's line before the proxy's
        (1, "http,https", True),
        (2, "https", True),
        (2, "http,https,http", True),
        (2, "https, http, http", False),
    ],
)
def test_scheme_is_read_from_outermost_proxy(
    settings: Settings, proxies: int, header: str, *, expected: bool
) -> None:
    settings.TRUSTED_PROXY_COUNT = proxies
    environ = {"HTTP_X_FORWARDED_PROTO": header, "wsgi.url_scheme": "http"}

    assert is_secure(environ) is expected
    normalise_forwarded_proto(environ)
    assert is_secure(environ) is expected
    assert "," not in environ["HTTP_X_FORWARDED_PROTO"]


SECONDS = 10.0  # a busy machine may take


def test_http2_is_not_spoken(tmp_path: Path) -> None:
    _context, roots = server_context(tmp_path, "localhost")
    command = [
        "-m",
        "tests.config.small_web",
        str(port := free_port()),
        roots,
        tmp_path / "key.pem",
    ]
    log = tmp_path / "web.log"
    program = Program([*map(str, command)], log=log, environ=os.environ, words="Started worker")
    program.start()
    context = ssl.create_default_context(cafile=roots)
    context.set_alpn_protocols(["h2", "http/1.1"])
    try:
        with (
            socket.create_connection(("127.0.0.1", port), SECONDS) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as line,
        ):
            offered = line.selected_alpn_protocol()
            line.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            response = line.recv(4096)
    finally:
        program.terminate()
        program.wait_stopped()

    assert (offered, response[:12]) == ("http/1.1", b"HTTP/1.1 200")
