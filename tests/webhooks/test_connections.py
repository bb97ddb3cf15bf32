"""Which addresses of a receiver are tried, and which of its answers is the final one."""

import socket

import pytest

from tests.loopback import read_request
from tests.webhooks.calls import HOST, names, outcome
from tests.webhooks.receivers import listening, peer
from webhooks import egress
from webhooks.egress import Failure


@pytest.mark.parametrize(
    ("resolved", "tried"),
    [
        (["a", "b", "c"], ["a", "b", "c"]),
        ([":1", ":2", ":3", "a", "b"], [":1", "a", ":2", "b", ":3"]),
        (["a", "b", ":1"], ["a", ":1", "b"]),
        ([], []),
    ],
)
def test_address_families_are_tried_in_turn(resolved: list[str], tried: list[str]) -> None:
    assert egress.interleaved(resolved) == tried


def test_address_that_answers_is_found_behind_dead_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening() as receiver:
        dead = [f"127.0.0.{n}" for n in range(2, 8)]
        of_a_dead_family = [f"127.0.1.{n}" for n in range(1, egress.MAX_ADDRESSES_TRIED)]
        names(monkeypatch, [*dead, *of_a_dead_family, "::ffff:127.0.0.1"])
        second = outcome(receiver.url.replace("127.0.0.1", HOST))
        names(monkeypatch, [*dead, "127.0.0.1"])
        last = outcome(receiver.url.replace("127.0.0.1", HOST))

    assert second == last == egress.EndpointResponse(200, "ok")


def test_dead_addresses_share_the_time_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    patience: list[float] = []

    def create_connection(_address: object, timeout: float) -> None:
        patience.append(timeout)
        raise TimeoutError

    monkeypatch.setattr(socket, "create_connection", create_connection)
    names(monkeypatch, [f"127.0.1.{n}" for n in range(1, 40)])

    assert outcome(f"http://{HOST}/") == Failure.CONNECT
    assert len(patience) == egress.MAX_ADDRESSES_TRIED
    assert all(0.5 <= seconds <= 3.0 for seconds in patience)


@pytest.mark.parametrize(
    ("interim", "response"),
    [
        (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 204),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" * 3, 204),
        (b"HTTP/1.1 103 Early Hints\r\n\r\n" * 200, Failure.PROTOCOL),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", 101),
    ],
)
def test_interim_responses_are_skipped(interim: bytes, response: int | Failure) -> None:
    def behave(line: socket.socket) -> None:
        read_request(line)
        line.sendall(interim + b"HTTP/1.1 204 No Content\r\nRetry-After: 7\r\n\r\n")

    with peer(behave) as url:
        result = outcome(url)

    assert (result if isinstance(result, Failure) else result.status) == response


@pytest.mark.parametrize(
    "rest",
    [
        b"Transfer-Encoding: chunked\r\n\r\n-5\r\nabc",
        b"Content-Type: text/html; charset*=utf-8''%ff; charset*0*=x''%; charset*1=b\r\n\r\nhi",
    ],
)
def test_status_counts_whatever_follows_it(rest: bytes) -> None:
    def behave(line: socket.socket) -> None:
        read_request(line)
        line.sendall(b"HTTP/1.1 200 OK\r\n" + rest)

    with peer(behave) as url:
        assert outcome(url) == egress.EndpointResponse(200, "")
