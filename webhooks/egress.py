"""Calls to URLs that customers choose, protected against SSRF and DNS rebinding.

The host is resolved once per call, all its addresses must be public, and the connection goes to a
checked address, so a later change of the DNS record has no effect.
"""

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from itertools import zip_longest
from urllib.parse import urlsplit

import certifi
from django.conf import settings

from outbound.connections import FinalResponse
from parsing.characters import is_line, stored_text
from parsing.hosts import ascii_host
from webhooks.models import DeliveryAttempt

Address = IPv4Address | IPv6Address
Failure = DeliveryAttempt.Failure

MAX_URL_LENGTH = 2000
PORTS = {443, 8443}
MAX_RESPONSE_BODY = 2048  # bytes of the response body
MAX_ADDRESSES_TRIED = 10
_GLOBAL_IPV6 = ip_network("2000::/3")  # all allocated global unicast addresses of IPv6
# `is_global` is true for these, but they embed, relay or reserve other addresses.
_DENIED = [
    ip_network(text)
    for text in (
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "2002::/16",
        "2001::/32",
        "::/96",
        "3fff::/20",
        "5f00::/16",
        "192.0.0.0/24",
        "192.88.99.0/24",
        "198.18.0.0/15",
    )
]


class CallError(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.value)
        self.failure = failure


class UrlError(CallError):
    """A URL that cannot be called; `failure` is the reason."""


@dataclass(frozen=True, slots=True)
class Destination:
    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        default = 443 if self.scheme == "https" else 80
        return host if self.port == default else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def url(self) -> str:
        return f"{self.origin}{self.path}"


@dataclass(frozen=True, slots=True)
class EndpointResponse:
    status: int
    body: str
    retry_after: str = ""  # the raw header


def parse_url(url: str) -> Destination:
    """Parses and checks a URL without a DNS query; raises UrlError."""
    if len(url) > MAX_URL_LENGTH or not is_line(url) or set(url) & set(' \\"<>^`{|}'):
        raise UrlError(Failure.URL)
    try:
        parts = urlsplit(url)
        host, port = _ascii(parts.hostname or ""), parts.port
        if port is None:
            port = 80 if parts.scheme == "http" else 443
    except ValueError:
        raise UrlError(Failure.URL) from None
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if "@" in parts.netloc or parts.fragment or not path.isascii():
        raise UrlError(Failure.URL)
    target = Destination(parts.scheme, host, port, path)
    if len(target.url) > MAX_URL_LENGTH:  # a slash or punycode may have made it longer
        raise UrlError(Failure.URL)
    _check_scheme_and_port(target)
    if (literal := _ip_literal(host)) is not None:
        _check_address(literal, target)
    return target


def _ascii(host: str) -> str:
    return host.lower() if ":" in host else ascii_host(host)  # an IPv6 literal has colons


def _check_scheme_and_port(target: Destination) -> None:
    if target.scheme == "https" and (target.port in PORTS or settings.WEBHOOKS_TO_LOOPBACK):
        return
    if target.scheme == "http" and settings.WEBHOOKS_TO_LOOPBACK:
        return  # `_check_address` allows only loopback then
    raise UrlError(Failure.PORT if target.scheme == "https" else Failure.SCHEME)


def _ip_literal(host: str) -> Address | None:
    """The IP address of a literal in any notation: 2130706433, 0x7f.1, 127.1 are 127.0.0.1."""
    try:
        return ip_address(host)
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(host))
    except OSError:
        return None


def is_public(address: Address) -> bool:
    embedded = getattr(address, "ipv4_mapped", None)
    if embedded is not None:
        return is_public(embedded)
    return (
        address.is_global
        and not address.is_multicast
        and (address.version == 4 or address in _GLOBAL_IPV6)
        and not any(address in network for network in _DENIED if network.version == address.version)
    )


def _check_address(address: Address, target: Destination) -> None:
    embedded = getattr(address, "ipv4_mapped", None) or address
    if embedded.is_loopback and settings.WEBHOOKS_TO_LOOPBACK:
        return
    if target.scheme == "https" and is_public(address):
        return
    raise UrlError(Failure.ADDRESS)


def resolve(target: Destination) -> list[str]:
    """Resolves the host; raises CallError unless all its addresses are allowed."""
    try:
        rows = socket.getaddrinfo(_lookup_name(target.host), target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise CallError(Failure.DNS) from None
    addresses = [str(row[4][0]) for row in rows]
    for address in addresses:
        _check_address(ip_address(address.partition("%")[0]), target)
    return list(dict.fromkeys(addresses))


def _lookup_name(host: str) -> str:
    """The fully qualified name, so that the resolver appends no search domain."""
    if settings.WEBHOOKS_TO_LOOPBACK or _ip_literal(host) is not None:
        return host  # in development names such as `localhost` are local
    return f"{host}."


def post(url: str, body: bytes, headers: Mapping[str, str]) -> EndpointResponse:
    """Sends one POST, within WEBHOOK_TIMEOUT after the DNS query; raises CallError."""
    target = parse_url(url)
    addresses = resolve(target)
    try:
        with _connection(target, addresses) as (sock, is_late):
            response = _exchange(target, sock, body, headers)
            if is_late.is_set():  # cut off within the headers, which looks as if they had ended
                raise CallError(Failure.TIMEOUT)
            retry_after = response.headers.get("Retry-After", "")
            return EndpointResponse(response.status, _body_start(response), retry_after)
    except TimeoutError:
        raise CallError(Failure.TIMEOUT) from None
    except ssl.SSLError:
        raise CallError(Failure.TLS) from None
    except OSError:
        raise CallError(Failure.BROKEN) from None
    except http.client.HTTPException:
        raise CallError(Failure.PROTOCOL) from None


@contextmanager
def _connection(
    target: Destination, addresses: list[str]
) -> Iterator[tuple[socket.socket, threading.Event]]:
    """A connection that is shut down at the deadline, even while the peer keeps sending."""
    ends_at = time.monotonic() + settings.WEBHOOK_TIMEOUT
    plain = _connect(target, interleaved(addresses)[:MAX_ADDRESSES_TRIED], ends_at)
    is_late = threading.Event()
    with closing(plain.dup()) as handle:
        timer = threading.Timer(ends_at - time.monotonic(), _shut_down, [handle, is_late])
        timer.daemon = True
        timer.start()
        try:
            with closing(_with_tls(target, plain)) as sock:
                yield sock, is_late
        except (OSError, http.client.HTTPException):
            if is_late.is_set():
                raise TimeoutError from None
            raise
        finally:
            timer.cancel()
            plain.close()


def interleaved(addresses: list[str]) -> list[str]:
    """The addresses with both families in turn: a dead family costs every second try (RFC 8305, 4).

    The resolver's order decides which family is first, and the order within a family.
    """
    first_is_ipv6 = any(":" in address for address in addresses[:1])
    first = [address for address in addresses if (":" in address) is first_is_ipv6]
    second = [address for address in addresses if (":" in address) is not first_is_ipv6]
    pairs = zip_longest(first, second)
    return [address for pair in pairs for address in pair if address is not None]


def _connect(target: Destination, addresses: list[str], ends_at: float) -> socket.socket:
    """Tries each address for an equal share of the remaining time, at most WEBHOOK_CONNECT."""
    for tried, address in enumerate(addresses):
        share = (ends_at - time.monotonic()) / (len(addresses) - tried)
        if share <= 0:
            break
        try:
            timeout = min(settings.WEBHOOK_CONNECT, share)
            sock = socket.create_connection((address, target.port), timeout)
        except OSError:
            continue
        sock.settimeout(settings.WEBHOOK_TIMEOUT)
        return sock
    raise CallError(Failure.CONNECT)


def _shut_down(handle: socket.socket, is_late: threading.Event) -> None:
    is_late.set()
    try:
        handle.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # closed already


def _with_tls(target: Destination, sock: socket.socket) -> socket.socket:
    if target.scheme == "http":
        return sock
    return _tls_context().wrap_socket(sock, server_hostname=target.host)


@cache
def _tls_context() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=certifi.where())


def _exchange(
    target: Destination, sock: socket.socket, body: bytes, headers: Mapping[str, str]
) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection(target.host, target.port)
    connection.sock = sock
    connection.response_class = FinalResponse
    fixed = {"Host": target.authority, "Connection": "close"}
    connection.request("POST", target.path, body, fixed | dict(headers))
    return connection.getresponse()


def _body_start(response: http.client.HTTPResponse) -> str:
    """The start of the body, for people to read; only the status matters."""
    try:
        body = response.read(MAX_RESPONSE_BODY)
        text = _decoded(body, response.headers.get_content_charset("utf-8"))
    except Exception:
        return ""
    return stored_text(text, MAX_RESPONSE_BODY)


def _decoded(body: bytes, charset: str) -> str:
    try:
        return body.decode(charset, "replace")
    except (LookupError, ValueError):  # an unknown charset, or one that is not for text
        return body.decode(errors="replace")
