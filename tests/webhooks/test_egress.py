"""Webhooks are sent to public addresses only."""

import socket
import time
from collections.abc import Callable, Iterator
from encodings.aliases import aliases
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import certifi
import pytest
from django.test import override_settings

from parsing.characters import stored_text
from tests.webhooks.calls import HOST, names, outcome
from tests.webhooks.certificates import server_context
from tests.webhooks.receivers import (
    Receiver,
    breaks_protocol,
    listening,
    peer,
    resets,
    sends_nothing,
    sends_slowly,
)
from webhooks import egress
from webhooks.egress import Failure, UrlError

PUBLIC = "93.184.216.34"

PRIVATE = [
    "0.0.0.0",  # noqa: S104
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "3fff::1",
    "5f00::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "ff02::1",
    "fec0::1",
    "::ffff:0:7f00:1",
    "4000::1",
    "e000::1",
    "100:0:0:1::1",
]
SPELLINGS = [
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "0177.0.0.1",
    "127.1",
    "127.0.1",
    "0",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::1]",
    "[64:ff9b::7f00:1]",
    "127.0.0.1.",
]


@pytest.fixture
def production() -> Iterator[None]:
    with override_settings(WEBHOOKS_TO_LOOPBACK=False):
        yield


def failure_of(url: str) -> Failure | None:
    try:
        egress.parse_url(url)
    except UrlError as error:
        return error.failure
    return None


@pytest.mark.parametrize("address", PRIVATE)
def test_private_address_is_not_public(address: str) -> None:
    assert not egress.is_public(ip_address(address))


@pytest.mark.parametrize("address", [PUBLIC, "2606:4700:4700::1111", "::ffff:93.184.216.34"])
def test_global_address_is_public(address: str) -> None:
    assert egress.is_public(ip_address(address))


@pytest.mark.parametrize("host", SPELLINGS)
def test_loopback_in_any_spelling_is_refused_at_once(production: None, host: str) -> None:
    assert failure_of(f"https://{host}/hook") is Failure.ADDRESS


@pytest.mark.parametrize(
    "addresses", [*([address] for address in PRIVATE), [PUBLIC, "127.0.0.1"], ["10.0.0.1", PUBLIC]]
)
def test_host_with_any_private_address_is_not_called(
    production: None, monkeypatch: pytest.MonkeyPatch, addresses: list[str]
) -> None:
    names(monkeypatch, addresses)

    assert outcome(f"https://{HOST}/") is Failure.ADDRESS


@pytest.mark.parametrize(
    ("url", "failure"),
    [
        (f"http://{HOST}/", Failure.SCHEME),
        (f"ftp://{HOST}/", Failure.SCHEME),
        (f"//{HOST}/", Failure.SCHEME),
        (f"https://{HOST}:22/", Failure.PORT),
        (f"https://{HOST}:80/", Failure.PORT),
        (f"https://{HOST}:0/", Failure.PORT),
        (f"https://{HOST}:99999/", Failure.URL),
        (f"https://user:password@{HOST}/", Failure.URL),
        (f"https://user@{HOST}/", Failure.URL),
        (f"https://{HOST}/#part", Failure.URL),
        (f"https://{HOST}/a b", Failure.URL),
        (f"https://{HOST}\\@127.0.0.1/", Failure.URL),
        (f"https://{HOST}/\r\nHost: x", Failure.URL),
        (f"https://{HOST}/путь", Failure.URL),
        ("https://[::1/", Failure.URL),
        ("https:///hook", Failure.URL),
        ("https://", Failure.URL),
        ("", Failure.URL),
        (f"https://{HOST}/{'a' * 2000}", Failure.URL),
        (f"https://{HOST}?{'a' * (1999 - len(HOST) - 8)}", Failure.URL),  # 2001 with its slash
        (f"https://{'a.' * 127}example/", Failure.URL),
        (f"https://{'a' * 64}.example/", Failure.URL),
        (f"https://a..{HOST}/", Failure.URL),
    ],
)
def test_address_is_refused_with_its_reason(production: None, url: str, failure: Failure) -> None:
    assert failure_of(url) is failure


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        (f"https://{HOST}", f"https://{HOST}/"),
        (f"HTTPS://{HOST.upper()}/Hook?a=%20b", f"https://{HOST}/Hook?a=%20b"),
        (f"https://{HOST}:443/", f"https://{HOST}/"),
        (f"https://{HOST}:8443/", f"https://{HOST}:8443/"),
        ("https://ромашка.рф/hook", "https://xn--80aa3agjl3d.xn--p1ai/hook"),
    ],
)
def test_url_is_normalised(production: None, url: str, normal: str) -> None:
    assert egress.parse_url(url).url == normal


def test_loopback_is_allowed_in_development_only(production: None) -> None:
    refused = failure_of("http://127.0.0.1:3000/hook")
    with override_settings(WEBHOOKS_TO_LOOPBACK=True):
        allowed = failure_of("http://127.0.0.1:3000/hook")

    assert (refused, allowed) == (Failure.SCHEME, None)


def test_plain_http_is_allowed_to_loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    names(monkeypatch, [PUBLIC])

    assert outcome(f"http://{HOST}/") is Failure.ADDRESS


@pytest.fixture
def secure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """A receiver with a certificate for HOST that we trust."""
    context, roots = server_context(tmp_path, HOST)
    monkeypatch.setattr(certifi, "where", lambda: str(roots))
    egress._tls_context.cache_clear()
    with listening(context) as receiver:
        yield receiver
    egress._tls_context.cache_clear()


def test_connection_sends_the_host_name_in_sni_and_host_header(
    secure: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    names(monkeypatch, ["127.0.0.1"])
    url = secure.url.replace("127.0.0.1", HOST)

    assert outcome(f"{url}?a=1") == egress.EndpointResponse(200, "ok")
    (call,) = secure.calls
    assert (call.path, call.body) == ("/hook?a=1", b"{}")
    assert call.headers["host"] == url.split("/")[2]


def test_certificate_of_another_host_is_refused(
    secure: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.webhooks.calls.HOST", "other.example.com")
    names(monkeypatch, ["127.0.0.1"])

    assert outcome(secure.url.replace("127.0.0.1", "other.example.com")) is Failure.TLS
    assert secure.calls == []


def test_unknown_certificate_is_refused(secure: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    egress._tls_context.cache_clear()

    assert outcome(secure.url) is Failure.TLS


def test_dns_rebinding_is_checked_at_every_call(
    production: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    names(monkeypatch, [PUBLIC], ["127.0.0.1"])
    result = egress.parse_url(f"https://{HOST}/")

    assert egress.resolve(result) == [PUBLIC]
    assert outcome(f"https://{HOST}/") is Failure.ADDRESS


def test_connection_uses_the_checked_address(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening() as receiver:
        # A second DNS query would lead to a closed port.
        names(monkeypatch, ["127.0.0.1"], ["127.1.2.3"])
        response = outcome(receiver.url.replace("127.0.0.1", HOST))

    assert response == egress.EndpointResponse(200, "ok")


def test_host_is_resolved_as_a_fully_qualified_name(
    production: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def getaddrinfo(host: str, *_arguments: Any, **_options: Any) -> list[Any]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (PUBLIC, 443))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)

    egress.resolve(egress.parse_url(f"https://{HOST}/"))
    egress.resolve(egress.parse_url(f"https://{PUBLIC}/"))

    assert asked == [f"{HOST}.", PUBLIC]


def test_ipv6_address_is_called() -> None:
    """Its last part is not taken for a port."""
    with listening() as receiver:
        url = receiver.url.replace("127.0.0.1", "[::ffff:127.0.0.1]")
        response = outcome(url)

    (call,) = receiver.calls
    assert response == egress.EndpointResponse(200, "ok")
    assert call.headers["host"] == url.split("/")[2]


def test_redirect_is_not_followed() -> None:
    with listening() as inside, listening() as receiver:
        receiver.status = 302
        receiver.headers = {"Location": inside.url}
        response = outcome(receiver.url)

    assert response == egress.EndpointResponse(302, "ok")
    assert inside.calls == []


def test_long_response_is_truncated() -> None:
    with listening() as receiver:
        receiver.response = b"a" * 1_000_000
        response = outcome(receiver.url)

    assert response == egress.EndpointResponse(200, "a" * 2048)


@pytest.mark.parametrize(
    ("charset", "encoding"), [("windows-1251", "cp1251"), ("KOI8-R", "koi8-r"), ("UTF-8", "utf-8")]
)
def test_response_charset_is_respected(charset: str, encoding: str) -> None:
    with listening() as receiver:
        receiver.headers = {"Content-Type": f"text/plain; charset={charset}"}
        receiver.response = "Ошибка".encode(encoding)
        response = outcome(receiver.url)

    assert response == egress.EndpointResponse(200, "Ошибка")


def test_response_in_any_charset_can_be_stored() -> None:
    with listening() as receiver:
        receiver.response = rb"\ud800 \x00 +2AA- xn--" + bytes(range(128, 256))
        for charset in {*aliases.values(), "unicode_escape", "raw_unicode_escape"}:
            receiver.headers = {"Content-Type": f"text/plain; charset={charset}"}
            body = outcome(receiver.url).body  # type: ignore[union-attr]
            assert body == stored_text(body, len(body))


def test_dns_and_connect_failures_are_distinguished(monkeypatch: pytest.MonkeyPatch) -> None:
    names(monkeypatch, [])
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]

    assert outcome(f"https://{HOST}/") is Failure.DNS
    assert outcome(f"http://127.0.0.1:{port}/") is Failure.CONNECT


@pytest.mark.parametrize(
    ("behave", "failure"),
    [
        (sends_nothing, Failure.TIMEOUT),
        (sends_slowly, Failure.TIMEOUT),
        (resets, Failure.BROKEN),
        (breaks_protocol, Failure.PROTOCOL),
    ],
)
@override_settings(WEBHOOK_TIMEOUT=0.5)
def test_misbehaving_receiver_fails_in_time(
    behave: Callable[[socket.socket], None], failure: Failure
) -> None:
    with peer(behave) as url:
        started = time.monotonic()
        response = outcome(url)

    assert response is failure
    assert time.monotonic() - started < 10


@override_settings(WEBHOOK_TIMEOUT=0.5)
def test_stalled_tls_handshake_times_out() -> None:
    def handshake(line: socket.socket) -> None:
        line.recv(65536)
        line.sendall(b"\x16\x03\x03\x40\x00")  # the head of a large record, and then drops of it
        while True:
            line.sendall(b"\x02")
            time.sleep(0.1)

    with peer(handshake) as url:
        started = time.monotonic()
        response = outcome(url.replace("http://", "https://"))

    assert response is Failure.TIMEOUT
    assert time.monotonic() - started < 10


@override_settings(WEBHOOK_TIMEOUT=0.5)
def test_endless_body_does_not_change_the_status() -> None:
    def body(line: socket.socket) -> None:
        line.recv(65536)
        line.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
        time.sleep(5)

    with peer(body) as url:
        response = outcome(url)

    assert response == egress.EndpointResponse(204, "")
