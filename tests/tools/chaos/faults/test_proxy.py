"""The proxy that spoils connections."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from urllib.parse import urlsplit

import pytest
import requests

from tests.tools.simulator.peers import Receiver
from tools.chaos.proxy import Counts, Proxy, Route

BODY = b'{"hello": "world"}'
HOLD = 0.4


class Server(Receiver):
    def handle_error(self, *_args: object) -> None:
        """Requests that are cut off are what it is here for."""


@pytest.fixture(scope="module")
def shared_server() -> Iterator[Receiver]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def server(shared_server: Receiver) -> Receiver:
    shared_server.hooks.clear()
    return shared_server


@contextmanager
def proxied(server: Receiver | int, **rates: float) -> Iterator[tuple[str, Counts]]:
    """The URL of a proxy in front of the server or port, and what it counts."""
    upstream = server if isinstance(server, int) else server.port
    line = Route("test", 0, upstream, rates, hold=HOLD, latency=0.2)
    proxy = Proxy(line, "7")
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        port = asyncio.run_coroutine_threadsafe(proxy.open(), loop).result(5)
        yield f"http://127.0.0.1:{port}/path", proxy.counts
    finally:
        asyncio.run_coroutine_threadsafe(_close(proxy), loop).result(5)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _close(proxy: Proxy) -> None:
    proxy.close()
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def connected(url: str) -> socket.socket:
    return socket.create_connection(("127.0.0.1", urlsplit(url).port or 0))


def arrived(server: Receiver) -> list[bytes]:
    return [hook.body for hook in server.hooks]


def ask(url: str, seconds: float = 5) -> requests.Response:
    return requests.post(url, data=BODY, timeout=seconds)


def test_proxy_without_faults_passes_everything(server: Receiver) -> None:
    with proxied(server) as (url, counts), closing(requests.Session()) as session:
        statuses = [session.post(url, data=BODY, timeout=5).status_code for _ in range(3)]

    assert statuses == [200, 200, 200]
    assert arrived(server) == [BODY] * 3
    assert (counts.requests, counts.statuses, counts.faults) == (3, {200: 3}, {})


@pytest.mark.parametrize("fault", ["reset", "cut_request"])
def test_truncated_request_does_not_arrive_whole(server: Receiver, fault: str) -> None:
    with proxied(server, **{fault: 1}) as (url, counts), pytest.raises(requests.ConnectionError):
        ask(url)

    assert arrived(server) == []
    assert counts.faults == {fault: 1}


def test_dropped_response_was_sent_upstream(server: Receiver) -> None:
    with proxied(server, drop_answer=1) as (url, counts), pytest.raises(requests.ConnectionError):
        ask(url)

    assert arrived(server) == [BODY]
    assert counts.statuses == {200: 1}


def test_truncated_response_delivers_its_beginning(server: Receiver) -> None:
    request = b"POST /path HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
    with proxied(server, cut_answer=1) as (url, _), connected(url) as client:
        client.sendall(request)
        response = b"".join(iter(lambda: client.recv(65536), b""))

    assert arrived(server) == [b"{}"]
    assert b"HTTP/1.1 200 OK".startswith(response[:15])
    assert not response.endswith(b"\r\n\r\n")
