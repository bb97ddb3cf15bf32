"""Keep-alive connections to a vendor or provider, direct or through an HTTP or SOCKS proxy.

urllib3 without requests, which costs 50 % more per call, and parses all certificate authorities,
16 ms of CPU, for each new connection.
"""

import io
import re
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache, cached_property
from http.client import HTTPException, HTTPResponse, LineTooLong
from ssl import SSLContext
from threading import BoundedSemaphore
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import certifi
from urllib3 import BaseHTTPResponse, HTTPConnectionPool, PoolManager, ProxyManager, Retry, Timeout
from urllib3.contrib.socks import SOCKSProxyManager
from urllib3.exceptions import HTTPError, ProtocolError
from urllib3.util import ALPN_PROTOCOLS, create_urllib3_context, make_headers

MAX_IDLE = 64  # connections
MAX_BODY = 2**20  # bytes of a response's body, decoded
CHUNK_BYTES = 2**16
MAX_INTERIM_RESPONSES = 20  # before the final one
# The limits of http.client for a response's header section.
MAX_LINE = 2**16  # bytes
MAX_HEADERS = 100
_INTERIM = re.compile(rb"HTTP/\S+\s+1(?!01)\d\d\s")
_HEADER = re.compile(rb"[!-9;-~]*:|[ \t]")  # or a header's continuation line

# A NAT that drops an idle connection would silently lose the next message.
_SOCKET_OPTIONS = [
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *([(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 45)] if hasattr(socket, "TCP_KEEPIDLE") else []),
]


class Response(NamedTuple):
    status: int
    headers: Mapping[str, str]  # names are case-insensitive
    body: bytes


class BodyTooLongError(HTTPError):
    pass


class TooManyCallsError(HTTPError):
    pass


class Connections:
    """Connections that do not retry, follow redirects, store cookies or read the environment.

    `timeout`: seconds to connect, and for the whole response. `max_calls` limits a process's
    concurrent calls, so that a peer that hangs holds no more threads. `ca_file` names additional
    trusted certificate authorities.
    """

    def __init__(
        self,
        url: str,
        timeout: tuple[float, float],
        proxy: str = "",
        max_calls: int = 0,
        ca_file: str = "",
    ) -> None:
        self._url = url
        self._timeout = timeout
        self.proxy = proxy
        self._ca_file = ca_file
        self._free_calls = BoundedSemaphore(max_calls) if max_calls else None

    def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: Iterable[bytes] | bytes | None = None,
        *,
        url: str = "",
    ) -> Response:
        """Returns a response of any status; raises HTTPError."""
        pool, prefix = self._find_pool(url) if url else self._pool_of_url
        with self.one_call():
            response = pool.urlopen(
                method,
                prefix + path,
                body,
                headers,
                redirect=False,
                assert_same_host=False,
                preload_content=False,
            )
            return Response(response.status, response.headers, _read_body(response))

    @contextmanager
    def one_call(self) -> Iterator[None]:
        """Takes one of `max_calls`; raises TooManyCallsError."""
        if self._free_calls is None:
            yield
            return
        if not self._free_calls.acquire(blocking=False):
            raise TooManyCallsError
        try:
            yield
        finally:
            self._free_calls.release()

    @cached_property  # created at the first call: many processes never call the account
    def _manager(self) -> PoolManager:
        connect, read = self._timeout
        manager = _make_manager(
            self.proxy,
            maxsize=MAX_IDLE,
            retries=Retry(total=False),
            socket_options=_SOCKET_OPTIONS,
            ssl_context=tls_context(self._ca_file),
            timeout=Timeout(connect + read, connect, read),
        )
        manager.pool_classes_by_scheme = {
            scheme: _with_deadline(pool) for scheme, pool in manager.pool_classes_by_scheme.items()
        }
        return manager

    @cached_property
    def _pool_of_url(self) -> tuple[HTTPConnectionPool, str]:
        return self._find_pool(self._url)

    def _find_pool(self, url: str) -> tuple[HTTPConnectionPool, str]:
        """The pool and the prefix of paths: an HTTP proxy without a tunnel needs the full URL."""
        pool = self._manager.connection_from_url(url)
        address = urlsplit(url)
        if pool.proxy is not None and address.scheme == "http":
            return pool, url
        return pool, f"{address.path}?{address.query}" if address.query else address.path


def _read_body(response: BaseHTTPResponse) -> bytes:
    body = b""
    try:
        for chunk in response.stream(CHUNK_BYTES):
            body += chunk
            if len(body) > MAX_BODY:
                response.close()
                raise BodyTooLongError
    except ValueError as error:  # a chunk of negative length
        raise ProtocolError from error
    response.release_conn()
    return body


class FinalResponse(HTTPResponse):
    """A response without interim ones, of which http.client handles only 100 (RFC 9110, 15.2).

    Otherwise the final response would stay in the connection and be read as that to the next
    request. 101 is final, as no upgrade was requested. Lines that are not headers are skipped too:
    at the first one http.client would stop reading headers, and lose Content-Length with the rest.
    """

    def begin(self) -> None:
        stream: Any = self.fp
        for _ in range(MAX_INTERIM_RESPONSES + 1):
            head = _read_head(stream)
            if not _INTERIM.match(head):
                break
        else:
            raise HTTPException("too many interim responses")
        self.fp = io.BytesIO(head)  # type: ignore[assignment]
        try:
            super().begin()
        finally:
            self.fp = stream


def _read_head(stream: io.BufferedIOBase) -> bytes:
    head = line = stream.readline(MAX_LINE + 1)
    for _ in range(MAX_HEADERS):
        if len(line) > MAX_LINE:
            raise LineTooLong("header line")
        if not line.strip(b"\r\n"):
            return head
        line = stream.readline(MAX_LINE + 1)
        if _HEADER.match(line) or not line.strip(b"\r\n"):
            head += line
    raise HTTPException("too many headers")


class _ResponseWithDeadline(FinalResponse):
    """A response that must end within the socket's timeout, which otherwise bounds each read only.

    A peer that trickles bytes would hold the thread forever.
    """

    def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp = io.BufferedReader(_ReaderWithDeadline(sock, self.fp.detach()))


class _ReaderWithDeadline(io.RawIOBase):
    def __init__(self, sock: socket.socket, reader: io.RawIOBase) -> None:
        self._sock = sock
        self._reader = reader
        self._ends_at = time.monotonic() + (sock.gettimeout() or 0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        seconds = self._ends_at - time.monotonic()
        if seconds <= 0:
            raise TimeoutError
        self._sock.settimeout(seconds)
        return self._reader.readinto(buffer)

    def close(self) -> None:
        self._reader.close()
        super().close()


def _with_deadline(pool: type[HTTPConnectionPool]) -> type[HTTPConnectionPool]:
    """A subclass of each of urllib3's classes for plain, TLS and proxied connections."""
    connection = type(
        pool.ConnectionCls.__name__,
        (pool.ConnectionCls,),
        {"response_class": _ResponseWithDeadline},
    )
    return type(pool.__name__, (pool,), {"ConnectionCls": connection})


def _make_manager(proxy: str, **options: Any) -> PoolManager:
    if not proxy:
        return PoolManager(**options)
    login = urlsplit(proxy)
    user = unquote(login.username or "")
    password = unquote(login.password or "")
    if login.scheme.startswith("socks"):
        return SOCKSProxyManager(proxy, user or None, password or None, **options)
    headers = make_headers(proxy_basic_auth=f"{user}:{password}") if user else None
    return ProxyManager(proxy, proxy_headers=headers, proxy_ssl_context=tls_context(""), **options)


@cache
def tls_context(ca_file: str) -> SSLContext:
    context = create_urllib3_context()
    context.load_verify_locations(certifi.where())
    if ca_file:
        context.load_verify_locations(ca_file)
    context.set_alpn_protocols(ALPN_PROTOCOLS)
    # urllib3 sets the protocols again for each connection, which frees the list that another
    # thread's new connection may be reading: CPython has no lock there.
    context.set_alpn_protocols = lambda alpn_protocols: None  # type: ignore[method-assign]
    return context


def seconds_of_retry(retry_after: str, now: datetime) -> float | None:
    """The seconds of a Retry-After (RFC 9110, 10.2.3), which is a number or a date.

    None for anything else, and for a past date.
    """
    text = retry_after.strip()
    if text.isascii() and text.isdecimal():
        return float(text[:10])
    seconds = _moment(text) - now.timestamp()
    return seconds if seconds > 0 else None


def _moment(date: str) -> float:
    """Unix time of an HTTP date, or of a mail date, which some frameworks write; else 0."""
    try:
        at = parsedate_to_datetime(date)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
