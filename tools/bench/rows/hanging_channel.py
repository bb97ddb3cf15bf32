"""Sends by one channel while the account of another hangs, and its breaker's state."""

import time
from dataclasses import replace

import requests

from tools.bench.load.client import Connection
from tools.bench.load.generator import post, whole
from tools.bench.report.results import Interval, Row
from tools.bench.rows.api_calls import Wait
from tools.bench.rows.runner import Bench, Series, order
from tools.bench.stack.stack import until

SIDES = ("idle", "during")
CONNECTIONS = 8
HANG = 8.0  # seconds
HUNG = 24  # of 32 threads: what one account may have
MAX_SECONDS = 4  # seconds of an interval: it must end before the calls that hang do


class SendWhileHanging(Wait):
    """By WhatsApp; what hangs are SMS."""

    sides = SIDES


def measure(bench: Bench) -> list[Row]:
    title = "POST /otp/send, waiting, while another account hangs"
    row = Row("beside", title, SIDES, CONNECTIONS)
    call = SendWhileHanging(bench)
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
    hang = {"channel": "sms", "kind": "hang", "latency_ms": int(HANG * 1000)}
    requests.post(faults, json=hang, timeout=10).raise_for_status()
    started, sends = time.monotonic(), _send_sms(bench, HUNG)
    until(lambda: _hanging(bench) > HUNG // 2, seconds=30, what="the calls that hang")
    interval = series.interval("during", number, min(bench.seconds, MAX_SECONDS))
    until(lambda: _is_open(bench), seconds=60, what="the breaker to open")
    opened = time.monotonic() - started
    requests.delete(faults, timeout=10).raise_for_status()
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
