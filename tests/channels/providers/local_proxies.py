"""Small real proxies on loopback: HTTP with CONNECT, and SOCKS5 that resolves names itself.

Whatever host is asked for, both connect to the port given: a name that only they know works.
"""

import base64
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from tests.loopback import server

LOGIN = ("kvitok", "p@ss/word")  # with characters that a URL must escape
ESCAPED = "kvitok:p%40ss%2Fword"


@dataclass(slots=True)
class Proxy:
    port: int
    target: int
    asked: list[str] = field(default_factory=list)  # host:port, of CONNECT or SOCKS

    def url(self, scheme: str, login: str = ESCAPED) -> str:
        return f"{scheme}://{login}@127.0.0.1:{self.port}"


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def _tunnel(client: socket.socket, target: int, first: bytes = b"") -> None:
    with socket.create_connection(("127.0.0.1", target)) as upstream:
        upstream.sendall(first)
        back = threading.Thread(target=_pump, args=(upstream, client))
        back.start()
        _pump(client, upstream)
        back.join()


def _read_head(client: socket.socket) -> bytes:
    head = b""
    while b"\r\n\r\n" not in head and (chunk := client.recv(65536)):
        head += chunk
    return head


def http_proxy(client: socket.socket, proxy: Proxy) -> None:
    head = _read_head(client)
    line = head.split(b"\r\n")[0].decode()
    method, target, _version = line.split(" ")
    proxy.asked.append(f"{method} {target}")
    expected = base64.b64encode(":".join(LOGIN).encode())
    if b"proxy-authorization: basic " + expected.lower() not in head.lower():
        client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
    elif method == "CONNECT":
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        _tunnel(client, proxy.target)
    else:
        _tunnel(client, proxy.target, head)


def socks_proxy(client: socket.socket, proxy: Proxy) -> None:
    """A SOCKS proxy (RFC 1928) with the login of RFC 1929."""
    client.recv(64)  # the methods it offers
    client.sendall(b"\x05\x02")
    login = client.recv(600)
    name_size = login[1]
    name = login[2 : 2 + name_size]
    password = login[3 + name_size :]
    if (name.decode(), password.decode()) != LOGIN:
        client.sendall(b"\x01\x01")
        return
    client.sendall(b"\x01\x00")
    wanted = client.recv(600)
    assert wanted[3] == 3, "a name, to be resolved here"
    size = wanted[4]
    host, port = wanted[5 : 5 + size].decode(), int.from_bytes(wanted[5 + size : 7 + size], "big")
    proxy.asked.append(f"{host}:{port}")
    client.sendall(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x00")
    _tunnel(client, proxy.target)


@contextmanager
def running(handle: Callable[[socket.socket, Proxy], None], target: int) -> Iterator[Proxy]:
    proxy = Proxy(0, target)
    with server(lambda client: handle(client, proxy), in_parallel=True) as proxy.port:
        yield proxy
