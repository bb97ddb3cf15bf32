"""Commands on the connection that a thread keeps: their replies never belong to others."""

import pytest
import redis

from config.storage import redis_client
from config.storage.redis_client import call, call_links


@pytest.fixture(autouse=True)
def _list() -> None:
    redis_client.redis_client().delete("kept")
    call("LPUSH", "kept", 1)


def test_replies_come_in_the_order_of_the_commands() -> None:
    assert call_links(["SET", "l2:kept", b"1", "PX", 1000], ["MGET", "l2:kept", "none"]) == [
        b"OK",
        [b"1", None],
    ]


def test_replies_after_an_error_are_no_other_commands() -> None:
    with pytest.raises(redis.ResponseError):
        call_links(["GET", "kept"], ["LLEN", "kept"])

    assert call("ECHO", "own") == b"own"


def test_connection_that_the_server_closed_is_opened_again() -> None:
    number = call("CLIENT", "ID")
    redis_client.redis_client().client_kill_filter(_id=str(number))

    assert call("LLEN", "kept") == 1
