"""Verify calls while a provider hangs and the maximum of sends wait for it."""

import selectors
import time
from dataclasses import replace

import requests

from tools.bench.load.client import Connection
from tools.bench.load.generator import whole
from tools.bench.report.results import Interval, Row
from tools.bench.rows.api_calls import Verify, Wait, open_messages
from tools.bench.rows.runner import Bench, Series, order
from tools.bench.stack.stack import Setup, until

SIDES = ("idle", "during")
CONNECTIONS = 16
LATENCY = 8.0  # seconds the provider takes
SENDS = 200
AT_ONCE = 1.5  # seconds within which an answer counts as given at once
MAX_SECONDS = 4  # seconds of an interval: it must end before the provider answers


class VerifyWhileHanging(Verify):
    sides = SIDES
    wanted = Setup("bench_delivery", delivery=True)


def measure(bench: Bench) -> list[Row]:
    title = "POST /otp/verify while a provider hangs"
    row = Row("hang", title, SIDES, CONNECTIONS, least=1.5, compared="p99", at_most=True)
    call = VerifyWhileHanging(bench)
    bench.stack.arrange(call.wanted)
    series = Series(bench, call, CONNECTIONS)
    series.interval("idle", -1, 1)
    for number in range(bench.rounds):
        bench.stack.tidy()
        for side in order(SIDES, number):
            during = side == "during"
            row.intervals.append(
                _during(bench, series, number) if during else series.interval(side, number)
            )
    return [row]


def _during(bench: Bench, series: Series, number: int) -> Interval:
    faults = f"http://127.0.0.1:{bench.stack.simulator}/faults"
    slow = {"channel": "whatsapp", "latency_ms": int(LATENCY * 1000)}
    requests.post(faults, json=slow, timeout=10).raise_for_status()
    sends = Sends(bench)
    at_once = sends.answered(AT_ONCE)
    interval = series.interval("during", number, min(bench.seconds, MAX_SECONDS))
    waiting = SENDS - at_once - sends.answered(0.01)
    requests.delete(faults, timeout=10).raise_for_status()
    sends.answered(2 * LATENCY)
    until(lambda: not open_messages(sends.call), seconds=60, what="delivery after the hang")
    notes = {"queued at once": float(at_once), "waiting to the end": float(waiting)}
    return replace(interval, errors=interval.errors + sends.missing, notes=notes)


class Sends:
    """All sent at once; their answers are read when they come."""

    def __init__(self, bench: Bench) -> None:
        self.call = Wait(bench)
        self._statuses: list[int] = []
        self._selector = selectors.DefaultSelector()
        feed = self.call.feed("ours", SENDS)
        for number, body in feed.lines:
            connection = Connection(self.call.port("ours"))
            self._selector.register(connection.socket, selectors.EVENT_READ, connection)
            connection.send(whole(feed.heads[number], body))

    @property
    def missing(self) -> int:
        """Those that were not accepted."""
        return SENDS - self._statuses.count(200)

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
