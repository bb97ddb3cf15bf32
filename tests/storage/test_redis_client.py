"""Commands on the connection that a thread keeps: their replies never belong to others."""

import socket
from typing import Any

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from storage import redis_client
from storage.redis_client import _ThreadConnection, blocking_call, call, call_together
from tests.loopback import read_to_end, server


@pytest.fixture(autouse=True)
def _list() -> None:
    redis_client.redis_client().delete("kept")
    call("LPUSH", "kept", 1)


def test_replies_come_in_the_order_of_the_commands() -> None:
    assert call_together(["SET", "l2:kept", b"1", "PX", 1000], ["MGET", "l2:kept", "none"]) == [
        b"OK",
        [b"1", None],
    ]


def test_error_drops_connection_with_pending_replies() -> None:
    with pytest.raises(redis.ResponseError):
        call_together(["GET", "kept"], ["LLEN", "kept"])

    assert not redis_client._connection.connection.is_connected  # the second may come at any time
    assert call("ECHO", "own") == b"own"


def test_connection_that_the_server_closed_is_opened_again() -> None:
    number = call("CLIENT", "ID")
    redis_client.redis_client().client_kill_filter(_id=str(number))

    assert call("LLEN", "kept") == 1


def test_hanging_server_is_waited_for_once() -> None:
    connections: list[socket.socket] = []

    def hang(connection: socket.socket) -> None:
        connections.append(connection)
        read_to_end(connection)

    with server(hang, in_parallel=True) as port:
        options: Any = {"socket_timeout": 0.2, "retry": Retry(NoBackoff(), 0)}
        client = redis.Redis(port=port, **options)

        with pytest.raises(redis.TimeoutError):
            _ThreadConnection().exchange(client, [("GET", "x")])

    assert len(connections) == 1


def test_wait_without_news_keeps_connection() -> None:
    before = blocking_call("CLIENT", "ID")

    assert blocking_call("BLPOP", "nothing", "0.01") is None

    assert blocking_call("CLIENT", "ID") == before
