"""A provider that is away, hangs, or responds with nonsense: an error page, and no lost threads."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.oidc import discovery
from accounts.oidc.refusals import RefusedError
from outbound.connections import MAX_BODY
from tests.accounts.oidc.sign_ins import refusal
from tests.accounts.security.people import make_person, signed_in

pytestmark = pytest.mark.django_db


class Nonsense(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        way = self.path.split("/")[1]
        getattr(self, f"_{way}")()

    def _error(self) -> None:
        self._send(500, b"{}")

    def _html(self) -> None:
        self._send(200, b"<html>")

    def _deep(self) -> None:
        self._send(200, b'{"a":' * 100_000 + b"1" + b"}" * 100_000)

    def _list(self) -> None:
        self._send(200, b"[]")

    def _huge(self) -> None:
        self._send(200, b'{"a": "' + b"a" * (2 * MAX_BODY) + b'"}')

    def _redirect(self) -> None:
        self.send_response(302)
        self.send_header("Location", "/good/.well-known/openid-configuration")
        self.end_headers()

    def _drip(self) -> None:
        self.send_response(200)
        self.end_headers()
        while True:
            try:
                self.wfile.write(b" ")
            except OSError:
                return
            time.sleep(0.05)

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        pass


@pytest.fixture(scope="module")
def nonsense() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Nonsense) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def away(settings: Settings) -> str:
    """The address of a port where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    settings.OIDC_ISSUER = f"http://127.0.0.1:{port}"
    settings.OIDC_NAME = "Acme ID"
    discovery.clear_cache()
    return settings.OIDC_ISSUER  # type: ignore[no-any-return]


def test_unavailable_provider_is_named_and_passwords_still_work(client: Client, away: str) -> None:
    response = client.post(reverse("sso-start"))

    assert (response.status_code, refusal(response)) == (503, "unavailable")
    text = response.content.decode()
    assert "Acme ID" in text
    assert reverse("account_login") in text
    assert signed_in(make_person()).get("/cabinet/").status_code == 200


@pytest.mark.parametrize("way", ["error", "html", "deep", "list", "huge", "redirect", "drip"])
def test_nonsense_is_refused_in_time(
    client: Client, nonsense: str, settings: Settings, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(discovery, "TIMEOUT", (1.0, 0.3))
    settings.OIDC_ISSUER = f"{nonsense}/{way}"
    discovery.clear_cache()
    begun = time.monotonic()

    response = client.post(reverse("sso-start"))

    assert response.status_code == 503
    assert time.monotonic() - begun < 5


def test_hanging_provider_occupies_a_few_threads(client: Client, away: str) -> None:
    with ExitStack() as calls:
        for _ in range(discovery.MAX_CALLS):
            calls.enter_context(discovery.connections().one_call())
        response = client.post(reverse("sso-start"))

    assert refusal(response) == "unavailable"


@pytest.mark.django_db(transaction=True)
def test_call_holds_no_database_connection(away: str) -> None:
    connection.ensure_connection()

    with pytest.raises(RefusedError):
        discovery.metadata()

    assert connection.connection is None
