"""Runs the requested rows, and measures those that are not a closed loop of one call: the whole
path, the hand-over, a hanging vendor.
"""

import argparse
import sqlite3
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace

import requests

from tools.bench.api_calls import CALLS, Send, Verify, Wait
from tools.bench.load import Burst, Generator, Load, Loop, RequestSource, call
from tools.bench.machine import Meter
from tools.bench.results import Interval, Row, percentile
from tools.bench.runner import Bench, Call, Series, measure_call, order
from tools.queries import queries
from tools.stack import seed
from tools.stack.stack import CannotMeasureError, Setup, Stack, until

CONNECTIONS = 16
FASTEST = 4000  # messages per second prepared for the flood
SAMPLES = 200
WARM_UP_SAMPLES = 20
PAUSE = 0.02  # seconds between samples: the service is idle when the next one comes
LIMITS = {"p50": (8.0, 3.0), "p99": (25.0, 6.0)}
SIDES = ("idle", "during")
HANG = 8.0  # seconds until the vendor answers
MAX_SECONDS = 4  # seconds of an interval, which must end before the hanging calls do
SENDERS = 8  # connections
GUESSERS = 16  # connections
HUNG = 24  # calls of the other account: the most that one may have of 32 threads
WAITING = 200  # sends, more than may wait
AT_ONCE = 1.5  # seconds within which an answer counts as immediate
_SQL = queries(__file__)


class Flood(Send):
    """Accepts as fast as possible while the worker delivers; the floor only accepts."""

    wanted = Setup("bench_path", "bench_path_floor", waiters=0, floor=True, delivery=True)

    def wrong(self, feed: RequestSource, load: Load) -> int:
        return load.refused  # accepted messages are checked by their charge


def measure_path(bench: Bench) -> list[Row]:
    title = "accepted → delivered, messages, beside sends of the floor"
    row = Row("path", title, Flood.sides, CONNECTIONS, least=0.13, aim=0.25)
    flood = Flood(bench)
    bench.stack.arrange(flood.wanted)
    series = Series(bench, flood, CONNECTIONS)
    series.interval("floor", -1, 1)
    _whole(bench, flood, -1, 1)
    for number in range(bench.rounds):
        for side in order(row.sides, number):
            bench.stack.tidy()
            row.intervals.append(
                _whole(bench, flood, number, bench.seconds)
                if side == "ours"
                else series.interval(side, number)
            )
    return [row]


def _whole(bench: Bench, flood: Flood, number: int, seconds: int) -> Interval:
    """A flood and the time until the last of it is delivered and charged."""
    feed = flood.feed("ours", FASTEST * seconds)
    bench.generate.prepare(feed)
    meter = Meter(bench.stack)
    load = bench.generate.run(flood.port("ours"), CONNECTIONS, seconds)
    accepted_at = time.monotonic()
    until(lambda: not flood.open_messages(), seconds=120, event="delivery", every=0.02)
    drained = time.monotonic() - accepted_at
    reading = meter.read()
    phones = feed.mark["phones"]
    row = bench.stack.store.execute(_SQL["charged"].text, [phones[0], phones[-1]]).fetchone()
    count, charged, p50, p99 = row or (0, 0, 0.0, 0.0)
    errors = load.refused + load.broken + count - charged
    notes = {"accepted per s": load.rate, "drained in s": drained}
    latency = {"p50": float(p50 or 0), "p99": float(p99 or 0)}
    return reading.interval("ours", number, count, errors=errors, notes=notes, **latency)


def measure_handover(bench: Bench) -> list[Row]:
    row = Row("handover", "accepted → handed over, idle", ("ours",), 1, limits=LIMITS)
    call = Wait(bench)
    bench.stack.arrange(call.wanted)
    _hand_over(bench, call, -1, WARM_UP_SAMPLES)
    for number in range(bench.rounds):
        bench.stack.tidy()
        row.intervals.append(_hand_over(bench, call, number, SAMPLES))
    return [row]


def _hand_over(bench: Bench, call: Wait, number: int, count: int) -> Interval:
    """Compares times of this machine's clock: the row's `created_at`, the start of its statement,
    and the simulator's log.
    """
    feed = call.feed("ours", count)
    phones: list[str] = feed.mark["phones"]
    meter = Meter(bench.stack)
    load = Loop(call.port("ours"), feed.whole(), pause=PAUSE).run(1)
    reading = meter.read()
    accepted: dict[str, float] = dict(
        bench.stack.store.execute(_SQL["accepted"].text, [phones[0], phones[-1]]).fetchall()
    )
    newest = "SELECT '+' || phone, at FROM messages ORDER BY id DESC LIMIT ?"
    log = f"file:{bench.stack.place}/simulator.sqlite3?mode=ro"
    with closing(sqlite3.connect(log, uri=True)) as store:
        taken_at = dict(store.execute(newest, [2 * count]).fetchall())
    times = [(taken_at[phone] - at) * 1000 for phone, at in accepted.items() if phone in taken_at]
    if not times:
        raise CannotMeasureError("nothing was handed over")
    latency = {"p50": percentile(times, 0.5), "p99": percentile(times, 0.99)}
    notes = {"worst": max(times), "answer p50": load.p50, "answer p99": load.p99}
    errors = load.refused + count - len(times)
    return reading.interval("ours", number, count, errors=errors, notes=notes, **latency)


During = Callable[[Bench, Series, int], Interval]


class SendWhileHanging(Wait):
    """Sends by WhatsApp while SMS hang."""

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


def _hang(bench: Bench, fault: Mapping[str, str] | None) -> None:
    """Makes messages hang from now on; None ends it."""
    url = f"http://127.0.0.1:{bench.stack.simulator}/faults"
    slow = {**(fault or {}), "latency_ms": int(HANG * 1000)}
    method = "DELETE" if fault is None else "POST"
    requests.request(method, url, json=slow, timeout=10).raise_for_status()


def _sends_beside(bench: Bench, series: Series, number: int) -> Interval:
    wait = Wait(bench)
    _hang(bench, {"channel": "sms", "kind": "hang"})
    started = time.monotonic()
    _sms(bench, HUNG)
    until(
        lambda: wait.counted(_SQL["hanging"].text)[0] > HUNG // 2,
        seconds=30,
        event="the calls that hang",
    )
    interval = series.interval("during", number, min(bench.seconds, MAX_SECONDS))
    until(lambda: wait.counted(_SQL["opened"].text)[0] > 0, seconds=60, event="the breaker to open")
    opened = time.monotonic() - started
    _hang(bench, None)
    until(lambda: _is_closed_by_a_probe(bench, wait), seconds=120, event="the breaker to close")
    closed = time.monotonic() - started
    return replace(interval, notes={"breaker opened": opened, "closed": closed})


def _is_closed_by_a_probe(bench: Bench, wait: Wait) -> bool:
    _sms(bench, 1).wait(30.0)
    return not wait.counted(_SQL["opened"].text)[0]


def _sms(bench: Bench, count: int) -> Burst:
    port, key = bench.stack.web, bench.accounts[0].key
    phones = bench.phones.take(count)
    sends = [call("otp/send", port, key, phone=phone, channel="sms") for phone in phones]
    return Burst(port, sends)


def _guesses_beside(bench: Bench, series: Series, number: int) -> Interval:
    _hang(bench, {"channel": "whatsapp"})
    wait = Wait(bench)
    sends = Burst(wait.port("ours"), wait.feed("ours", WAITING).whole())
    at_once = sends.wait(AT_ONCE)
    interval = series.interval("during", number, min(bench.seconds, MAX_SECONDS))
    waiting = WAITING - len(sends.statuses)
    _hang(bench, None)
    sends.wait(2 * HANG)
    until(lambda: not wait.open_messages(), seconds=60, event="delivery after the hang")
    missing = WAITING - sends.statuses.count(200)
    notes = {"queued at once": float(at_once), "waiting to the end": float(waiting)}
    return replace(interval, errors=interval.errors + missing, notes=notes)


FLOWS: dict[str, Callable[[Bench], list[Row]]] = {
    "handover": measure_handover,
    "hang": measure_guesses,
    "beside": measure_sends,
    "path": measure_path,
}


def measure(
    options: argparse.Namespace, stack: Stack, generate: Generator, say: Callable[[str], None]
) -> list[Row]:
    """Measures the rows; reports those that cannot be measured and continues."""
    bench = Bench(
        stack=stack,
        accounts=seed.migrated(),
        phones=seed.Phones(),
        generate=generate,
        seconds=options.seconds,
        rounds=options.rounds,
        connections=options.concurrency,
    )
    rows: list[Row] = []
    for name in options.only:
        started = time.monotonic()
        try:
            flow = FLOWS.get(name)
            rows += flow(bench) if flow else measure_call(bench, CALLS[name](bench))
        except CannotMeasureError as error:
            say(f"{name}: CANNOT BE MEASURED: {error}")
        say(f"{name}: {time.monotonic() - started:.0f} s")
    return rows
