"""Kept connections to a vendor: direct, by an HTTP proxy or by SOCKS.

urllib3 alone: requests would cost half as much again per call, and would parse every certificate
authority, 16 ms of CPU, for each new connection.
"""

import socket
from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from ssl import SSLContext
from typing import Any
from urllib.parse import unquote, urlsplit

import certifi
from urllib3 import BaseHTTPResponse, HTTPConnectionPool, PoolManager, ProxyManager, Retry, Timeout
from urllib3.contrib.socks import SOCKSProxyManager
from urllib3.util import ALPN_PROTOCOLS, create_urllib3_context, make_headers

MAX_IDLE = 64  # connections that are kept

# A NAT that drops an idle connection would silently lose the next message.
_SOCKET_OPTIONS = [
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *([(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 45)] if hasattr(socket, "TCP_KEEPIDLE") else []),
]


class Connections:
    """Repeats no request, follows no redirect, keeps no cookie and ignores the environment."""

    def __init__(self, url: str, timeout: tuple[float, float], proxy: str = "") -> None:
        self._url, self._timeout, self.proxy = url, timeout, proxy

    def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: Iterable[bytes] | None = None,
        *,
        url: str = "",
    ) -> BaseHTTPResponse:
        """Returns a response of any status, read to its end; raises HTTPError."""
        pool, prefix = self._find_pool(url) if url else self._own
        return pool.urlopen(
            method, prefix + path, body, headers, redirect=False, assert_same_host=False
        )

    def close(self) -> None:
        self._manager.clear()

    @cached_property  # made at the first call: many processes know an account and never call it
    def _manager(self) -> PoolManager:
        connect, read = self._timeout
        return _make_manager(
            self.proxy,
            maxsize=MAX_IDLE,
            retries=Retry(total=False),
            socket_options=_SOCKET_OPTIONS,
            ssl_context=tls_context(),
            timeout=Timeout(connect=connect, read=read),
        )

    @cached_property
    def _own(self) -> tuple[HTTPConnectionPool, str]:
        return self._find_pool(self._url)

    def _find_pool(self, url: str) -> tuple[HTTPConnectionPool, str]:
        """The pool, and what goes before a path: an HTTP proxy without a tunnel needs the host."""
        pool, address = self._manager.connection_from_url(url), urlsplit(url)
        is_forwarded = pool.proxy is not None and address.scheme == "http"
        return pool, url if is_forwarded else address.path


def _make_manager(proxy: str, **options: Any) -> PoolManager:
    if not proxy:
        return PoolManager(**options)
    login = urlsplit(proxy)
    user, password = unquote(login.username or ""), unquote(login.password or "")
    if login.scheme.startswith("socks"):
        return SOCKSProxyManager(proxy, user or None, password or None, **options)
    headers = make_headers(proxy_basic_auth=f"{user}:{password}") if user else None
    return ProxyManager(
        proxy, proxy_headers=headers, proxy_ssl_context=options["ssl_context"], **options
    )


@cache
def tls_context() -> SSLContext:
    context = create_urllib3_context()
    context.load_verify_locations(certifi.where())
    context.set_alpn_protocols(ALPN_PROTOCOLS)
    # urllib3 sets them again for each connection, which frees the list that another thread's
    # new connection may be reading: CPython has no lock there.
    context.set_alpn_protocols = lambda alpn_protocols: None  # type: ignore[method-assign]
    return context
