"""Calls to vendors by a proxy: real ones on loopback, whose password shows nowhere."""

import logging
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pytest_django import Settings

from channels.providers.base import Accepted, SendError, TransientError
from channels.providers.telegram_bot.provider import TelegramBot
from channels.vendor_accounts import registry
from config.environment import addresses
from outbound import connections
from tests.certificates import certificate
from tests.channels.accounts import set_account
from tests.channels.providers.http_responses import ACCEPTED, http_response
from tests.channels.providers.local_proxies import (
    ESCAPED,
    LOGIN,
    Proxy,
    http_proxy,
    running,
    socks_proxy,
)
from tests.channels.providers.vendors import BOT_TOKEN, bot, message
from tests.config.starting import start
from tests.loopback import read_request, server

HOST = "telegram.vendor.test"  # that only the proxy can resolve
PROXIES = [("http", http_proxy), ("socks5h", socks_proxy)]


def accept(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(http_response(ACCEPTED))


@contextmanager
def account(proxy: str, scheme: str = "http") -> Iterator[TelegramBot]:
    provider = bot(api_url=f"{scheme}://{HOST}", timeout=(20.0, 20.0))
    provider.use_proxy(proxy)
    yield provider


@pytest.mark.parametrize(("scheme", "handle"), PROXIES)
def test_message_is_sent_through_the_proxy_which_resolves_the_name(
    scheme: str, handle: object
) -> None:
    with (
        server(accept) as vendor,
        running(handle, vendor) as proxy,  # type: ignore[arg-type]
        account(proxy.url(scheme)) as provider,
    ):
        assert isinstance(provider.send(message()), Accepted)

    (asked,) = proxy.asked
    assert HOST in asked


@pytest.mark.parametrize(("scheme", "handle"), PROXIES)
def test_proxy_sees_no_word_of_an_encrypted_call(
    scheme: str, handle: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pem = certificate(tmp_path, 30, HOST)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    monkeypatch.setattr(
        connections, "tls_context", lambda _file: ssl.create_default_context(cafile=pem)
    )

    def accept_encrypted(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as encrypted:
            accept(encrypted)

    with (
        server(accept_encrypted) as vendor,
        running(handle, vendor) as proxy,  # type: ignore[arg-type]
        account(proxy.url(scheme), "https") as provider,
    ):
        assert isinstance(provider.send(message()), Accepted)

    (asked,) = proxy.asked
    assert asked.endswith(f"{HOST}:443")


def test_proxy_may_be_reached_by_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pem = certificate(tmp_path, 30)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    monkeypatch.setattr(
        connections, "tls_context", lambda _file: ssl.create_default_context(cafile=pem)
    )

    def tls_proxy(client: socket.socket, proxy: Proxy) -> None:
        with context.wrap_socket(client, server_side=True) as encrypted:
            http_proxy(encrypted, proxy)

    with (
        server(accept) as vendor,
        running(tls_proxy, vendor) as proxy,
        account(proxy.url("https").replace("127.0.0.1", "localhost")) as provider,
    ):
        assert isinstance(provider.send(message()), Accepted)

    (asked,) = proxy.asked
    assert HOST in asked


@pytest.mark.parametrize(("scheme", "handle"), PROXIES)
def test_password_that_the_proxy_refuses_shows_nowhere(
    scheme: str, handle: object, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with (
        server(accept) as vendor,
        running(handle, vendor) as proxy,  # type: ignore[arg-type]
        account(proxy.url(scheme, "kvitok:wr0ng-password"), "https") as provider,
        pytest.raises(SendError) as caught,
    ):
        provider.send(message())

    assert type(caught.value) is TransientError  # nothing was sent: it may be tried again
    assert "roxy" in caught.value.detail or "SOCKS" in caught.value.detail
    seen = repr(caught.value) + repr(provider.__dict__["_headers"]) + caplog.text
    assert "wr0ng" not in seen
    assert BOT_TOKEN not in seen


@pytest.mark.parametrize("scheme", ["http", "socks5h"])
def test_unavailable_proxy_is_definite(scheme: str) -> None:
    with (
        account(f"{scheme}://{ESCAPED}@127.0.0.1:1", "https") as provider,
        pytest.raises(TransientError) as caught,
    ):
        provider.send(message())

    assert LOGIN[1] not in repr(caught.value)
    assert "roxy" in caught.value.detail


def test_registry_gives_each_account_its_proxy(settings: Settings) -> None:
    url = "http://127.0.0.1:3128"
    set_account(settings, "telegram_bot", {"token": BOT_TOKEN, "proxy": url})

    provider = registry.live_providers()["telegram_bot"]

    assert isinstance(provider, TelegramBot)
    assert provider._connections.proxy == url


@pytest.mark.parametrize(
    "text", ["127.0.0.1:3128", "http://user:s3cret@host:port", "http://user:s3cret@host:3128/path"]
)
def test_malformed_proxy_setting_is_refused_without_its_password(text: str) -> None:
    refused = start(PROXIES=f"twilio={text}")

    assert refused.returncode != 0
    assert "PROXIES: twilio must be http://host:port" in refused.stderr
    assert "s3cret" not in refused.stderr


def test_accounts_take_their_own_proxy_or_the_one_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "http://all:3128,twilio=socks5h://own:1080/,twilio:kz=direct"
    monkeypatch.setattr(addresses, "PROXIES", addresses.named(text))

    assert addresses.proxy("smsc") == "http://all:3128"
    assert addresses.proxy("twilio:uz", "twilio") == "socks5h://own:1080"
    assert addresses.proxy("twilio:kz", "twilio") == ""


def test_proxy_of_no_account_is_refused() -> None:
    refused = start(PROXIES="twillio=http://127.0.0.1:3128")

    assert "PROXIES: no such account: 'twillio'" in refused.stderr
