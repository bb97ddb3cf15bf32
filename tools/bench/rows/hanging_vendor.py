"""Calls while a vendor hangs: sends by another account, and guesses while all waiters are taken."""

import selectors
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import requests

from tools.bench.load.client import Connection
from tools.bench.load.generator import post, whole
from tools.bench.report.results import Interval, Row
from tools.bench.rows.api_calls import Verify, Wait, open_messages
from tools.bench.rows.runner import Bench, Call, Series, order
from tools.stack.stack import Setup, until

SIDES = ("idle", "during")
HANG = 8.0  # seconds the vendor takes
MAX_SECONDS = 4  # seconds of an interval: it must end before the calls that hang do
SENDERS, GUESSERS = 8, 16  # connections
HUNG = 24  # calls of the account beside, of 32 threads: what one account may have
WAITING = 200  # sends, more than may wait
AT_ONCE = 1.5  # seconds within which an answer counts as given at once

During = Callable[[Bench, Series, int], Interval]


class SendWhileHanging(Wait):
    """By WhatsApp; what hangs are SMS."""

    sides = SIDES


class VerifyWhileHanging(Verify):
    sides = SIDES
    wanted = Setup("bench_delivery", delivery=True)


def measure_sends(bench: Bench) -> list[Row]:
    title = "POST /otp/send, waiting, while another account hangs"
    row = Row("beside", title, SIDES, SENDERS)
    return _measure(bench, row, SendWhileHanging(bench), _sends_beside)


def measure_guesses(bench: Bench) -> list[Row]:
    title = "POST /otp/verify while a vendor hangs"
    row = Row("hang", title, SIDES, GUESSERS, least=1.5, compared="p99", at_most=True)
    return _measure(bench, row, VerifyWhileHanging(bench), _guesses_beside)


def _measure(bench: Bench, row: Row, call: Call, during: During) -> list[Row]:
    bench.stack.arrange(call.wanted)
    series = Series(bench, call, row.connections or 1)
    series.interval("idle", -1, 1)
    for number in range(bench.rounds):
        bench.stack.tidy()
        for side in order(SIDES, number):
            row.intervals.append(
                during(bench, series, number) if side == "during" else series.interval(side, number)
            )
    return [row]


def _interval(bench: Bench, series: Series, number: int) -> Interval:
    return series.interval("during", number, min(bench.seconds, MAX_SECONDS))


def _begin(bench: Bench, fault: Mapping[str, str]) -> None:
    slow = {**fault, "latency_ms": int(HANG * 1000)}
    requests.post(_faults(bench), json=slow, timeout=10).raise_for_status()


def _end(bench: Bench) -> None:
    requests.delete(_faults(bench), timeout=10).raise_for_status()


def _faults(bench: Bench) -> str:
    return f"http://127.0.0.1:{bench.stack.simulator}/faults"


def _sends_beside(bench: Bench, series: Series, number: int) -> Interval:
    _begin(bench, {"channel": "sms", "kind": "hang"})
    started, sends = time.monotonic(), _send_sms(bench, HUNG)
    until(lambda: _hanging(bench) > HUNG // 2, seconds=30, what="the calls that hang")
    interval = _interval(bench, series, number)
    until(lambda: _is_open(bench), seconds=60, what="the breaker to open")
    opened = time.monotonic() - started
    _end(bench)
    until(lambda: _is_closed_by_a_probe(bench), seconds=120, what="the breaker to close")
    closed = time.monotonic() - started
    for one in sends:
        one.close()
    return replace(interval, notes={"breaker opened": opened, "closed": closed})


def _is_closed_by_a_probe(bench: Bench) -> bool:
    for one in _send_sms(bench, 1):
        while one.hear() is None:
            pass
        one.close()
    return not _is_open(bench)


def _send_sms(bench: Bench, many: int) -> list[Connection]:
    """All at once; nobody reads the answers."""
    account, connections = bench.accounts[0], []
    port = bench.stack.web
    for phone in bench.phones.take(many):
        connection = Connection(port)
        body = f'{{"phone": "{phone}", "channel": "sms"}}'
        connection.send(whole(post("/api/v1/otp/send", port, account.key), body))
        connections.append(connection)
    return connections


def _hanging(bench: Bench) -> int:
    found = bench.stack.store.execute(
        "SELECT count(*) FROM channels_attempt"
        " WHERE provider = 'twilio' AND started_at > now() - interval '1 minute'"
    ).fetchone()
    return int(found[0]) if found else 0


def _is_open(bench: Bench) -> bool:
    found = bench.stack.store.execute(
        "SELECT 1 FROM channels_provideraccount WHERE name = 'twilio' AND open_until IS NOT NULL"
    )
    return found.fetchone() is not None


def _guesses_beside(bench: Bench, series: Series, number: int) -> Interval:
    _begin(bench, {"channel": "whatsapp"})
    sends = Sends(bench)
    at_once = sends.answered(AT_ONCE)
    interval = _interval(bench, series, number)
    waiting = WAITING - at_once - sends.answered(0.01)
    _end(bench)
    sends.answered(2 * HANG)
    until(lambda: not open_messages(sends.call), seconds=60, what="delivery after the hang")
    notes = {"queued at once": float(at_once), "waiting to the end": float(waiting)}
    return replace(interval, errors=interval.errors + sends.missing, notes=notes)


class Sends:
    """All sent at once; their answers are read when they come."""

    def __init__(self, bench: Bench) -> None:
        self.call = Wait(bench)
        self._statuses: list[int] = []
        self._selector = selectors.DefaultSelector()
        feed = self.call.feed("ours", WAITING)
        for number, body in feed.lines:
            connection = Connection(self.call.port("ours"))
            self._selector.register(connection.socket, selectors.EVENT_READ, connection)
            connection.send(whole(feed.heads[number], body))

    @property
    def missing(self) -> int:
        """Those that were not accepted."""
        return WAITING - self._statuses.count(200)

    def answered(self, seconds: float) -> int:
        """Reads what comes within this time; how many answers that were."""
        deadline, before = time.monotonic() + seconds, len(self._statuses)
        while self._selector.get_map() and (left := deadline - time.monotonic()) > 0:
            for key, _event in self._selector.select(timeout=left):
                self._read(key)
        return len(self._statuses) - before

    def _read(self, key: selectors.SelectorKey) -> None:
        answer = key.data.hear()
        if answer is not None:
            self._statuses.append(answer.status)
            self._selector.unregister(key.fileobj)
            key.data.close()
