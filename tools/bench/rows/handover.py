"""Time from acceptance to the vendor call on an idle service, one send at a time."""

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from tools.bench.load.client import Connection
from tools.bench.report.meter import Meter
from tools.bench.report.results import Interval, Row, percentile
from tools.bench.rows.api_calls import Wait
from tools.bench.rows.runner import Bench
from tools.stack.programs import CannotMeasureError

SAMPLES = 200
WARM_UP = 20
PAUSE = 0.02  # seconds between samples: the service is idle when the next one comes
LIMITS = {"p50": (8.0, 3.0), "p99": (25.0, 6.0)}


def measure(bench: Bench) -> list[Row]:
    row = Row("handover", "accepted → handed over, idle", ("ours",), 1, limits=LIMITS)
    call = Wait(bench)
    bench.stack.arrange(call.wanted)
    _hand_over(bench, call, -1, WARM_UP)
    for number in range(bench.rounds):
        bench.stack.tidy()
        row.intervals.append(_hand_over(bench, call, number, SAMPLES))
    return [row]


def _hand_over(bench: Bench, call: Wait, number: int, many: int) -> Interval:
    """Both times are this machine's clock: the row's `created_at`, which is when its statement
    began, and the simulator's log.
    """
    feed = call.feed("ours", many)
    phones: list[str] = feed.mark["phones"]
    meter = Meter(bench.stack)
    answers, refused = _one_by_one(call.port("ours"), list(feed.whole()))
    reading = meter.read()
    accepted, taken = _accepted(bench, phones), _taken(bench, phones)
    times = [(taken[phone] - at) * 1000 for phone, at in accepted.items() if phone in taken]
    if not times:
        raise CannotMeasureError("nothing was handed over")
    return reading.interval(
        "ours",
        number,
        requests=many,
        p50=percentile(times, 0.5),
        p99=percentile(times, 0.99),
        errors=refused + many - len(times),
        notes={
            "worst": max(times),
            "answer p50": percentile(answers, 0.5),
            "answer p99": percentile(answers, 0.99),
        },
    )


def _one_by_one(port: int, calls: Sequence[bytes]) -> tuple[list[float], int]:
    """(ms until each answer, how many were refused)"""
    connection, times, refused = Connection(port), [], 0
    for call in calls:
        answer = connection.ask(call)
        times.append((time.perf_counter() - connection.sent_at) * 1000)
        refused += answer.status != 200
        time.sleep(PAUSE)
    connection.close()
    return times, refused


def _accepted(bench: Bench, phones: Sequence[str]) -> dict[str, float]:
    query = (
        "SELECT phone, EXTRACT(epoch FROM created_at)::float8 FROM channels_message"
        " WHERE phone BETWEEN %s AND %s"
    )
    return dict(bench.stack.store.execute(query, [phones[0], phones[-1]]).fetchall())


def _taken(bench: Bench, phones: Sequence[str]) -> dict[str, float]:
    log = Path(bench.stack.place, "simulator.sqlite3")
    wanted = {phone.removeprefix("+"): phone for phone in phones}
    store = sqlite3.connect(f"file:{log}?mode=ro", uri=True)
    newest = "SELECT phone, at FROM messages ORDER BY id DESC LIMIT ?"
    found = store.execute(newest, [2 * len(phones)]).fetchall()
    store.close()
    return {wanted[phone]: at for phone, at in found if phone in wanted}
