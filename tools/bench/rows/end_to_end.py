"""A flood of sends from acceptance to delivery, receipt and charge."""

import subprocess
import sys
import time
from typing import Any

import orjson

from config.environment.variables import ROOT
from tools.bench.report.meter import Meter
from tools.bench.report.results import Interval, Row
from tools.bench.rows.api_calls import Send, open_messages
from tools.bench.rows.runner import Bench, order
from tools.stack.programs import CannotMeasureError
from tools.stack.stack import Setup, until

SIDES = ("floor", "ours")
CONNECTIONS = 16
FIRST = 1000  # messages of the floor, when it comes before any flood
FASTEST = 4000  # messages a second that are made ready for the flood


class Flood(Send):
    """Accepted as fast as possible while the worker delivers."""

    sides = ("ours",)
    wanted = Setup("bench_path", waiters=0, delivery=True)


def measure(bench: Bench) -> list[Row]:
    row = Row("path", "accepted → delivered, messages", SIDES, None, least=0.3, aim=0.6)
    flood, many = Flood(bench), FIRST
    bench.stack.arrange(flood.wanted)
    _whole(bench, flood, -1, 1)
    with Floor(bench) as floor:
        for number in range(bench.rounds):
            for side in order(SIDES, number):
                bench.stack.tidy()
                if side == "ours":
                    interval = _whole(bench, flood, number, bench.seconds)
                    many = interval.requests
                else:
                    interval = floor.run(number, many)
                row.intervals.append(interval)
    return [row]


def _whole(bench: Bench, flood: Flood, number: int, seconds: int) -> Interval:
    """A flood and the time until the last of it is delivered and charged."""
    feed = flood.feed("ours", FASTEST * seconds)
    bench.generate.prepare(feed)
    meter = Meter(bench.stack)
    load = bench.generate.run(flood.port("ours"), CONNECTIONS, seconds)
    accepted_at = time.monotonic()
    until(lambda: not open_messages(flood), seconds=120, what="delivery", every=0.02)
    drained = time.monotonic() - accepted_at
    reading = meter.read()
    phones = feed.mark["phones"]
    many, charged, p50, p99 = _charged(bench, phones[0], phones[-1])
    return reading.interval(
        "ours",
        number,
        requests=many,
        p50=p50,
        p99=p99,
        errors=load.refused + load.broken + many - charged,
        notes={"accepted per s": load.rate, "drained in s": drained},
    )


def _charged(bench: Bench, first: str, last: str) -> tuple[int, int, float, float]:
    """(messages, captures, p50, p99 of the ms from acceptance to the charge)"""
    found = bench.stack.store.execute(_CHARGED, [first, last]).fetchone() or (0, 0, 0.0, 0.0)
    return int(found[0]), int(found[1]), float(found[2] or 0), float(found[3] or 0)


_CHARGED = """
WITH taken AS (
  SELECT 1000 * EXTRACT(epoch FROM t.created_at - m.created_at) AS ms
  FROM channels_message m
  LEFT JOIN billing_transfer t ON t.message_id = m.id AND t.kind = 'capture'
  WHERE m.phone BETWEEN %s AND %s)
SELECT count(*), count(ms), percentile_disc(0.5) WITHIN GROUP (ORDER BY ms),
  percentile_disc(0.99) WITHIN GROUP (ORDER BY ms)
FROM taken
"""


class Floor:
    """Runs `end_to_end_floor` in a process of its own, on a database hidden from the worker."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        environ = bench.stack.environ | {"DATABASE_URL": bench.stack.copy("bench_path_floor")}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tools.bench.floors.end_to_end_floor"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environ,
            cwd=ROOT,
        )

    def __enter__(self) -> "Floor":
        accounts = [[one.company_id, one.key_id] for one in self._bench.accounts]
        self._ask({"accounts": accounts})
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=20)  # it ends with its input

    def run(self, number: int, many: int) -> Interval:
        phones = self._bench.phones.take(many)
        meter = Meter(self._bench.stack, process=self._process.pid)
        done = self._ask({"phones": phones})
        reading = meter.read()
        errors = many - done["delivered"]
        return reading.interval(
            "floor", number, requests=many, p50=done["p50"], p99=done["p99"], errors=errors
        )

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None  # noqa: S101 - both were opened as pipes
        assert self._process.stdout is not None  # noqa: S101
        self._process.stdin.write(orjson.dumps(request) + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise CannotMeasureError("the floor of the path has died")
        heard: dict[str, Any] = orjson.loads(line)
        return heard
