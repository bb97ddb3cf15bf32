"""What runs beside the requests: the schedule's tasks, the full proof of the books, and exports."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import psycopg
from django.urls import reverse

from config.celery import app
from config.schedule import SCHEDULE
from tools.growth.figures import Figure, Group
from tools.growth.recording import Probe, blocks_of_database

# They look at the machine and its neighbours, not at the history.
LEFT_OUT = {"operator_admin.examine_outside", "channels.write_heartbeat", "accounts.deliver_mail"}
EXPORT_ROWS, FEWEST = 500_000, 5_000
PER = 1_000  # rows
FILES = ("message-export", "balance-csv", "link-export")


def measure(store: psycopg.Connection) -> Iterator[Figure]:
    app.loader.import_default_modules()
    for name, entry in SCHEDULE.items():
        if entry["task"] not in LEFT_OUT:
            yield _job(name, partial(app.tasks[entry["task"]], **entry.get("kwargs", {})), store)


def _job(name: str, work: Callable[[], object], store: psycopg.Connection) -> Figure:
    before, began = blocks_of_database(store), time.monotonic()
    work()
    ms = round((time.monotonic() - began) * 1000, 1)
    return Figure(Group.JOB, name, blocks_of_database(store) - before, ms)


def measure_exports(probe: Probe) -> Iterator[Figure]:
    """1,000 rows of the first tenth of each file, and of its last."""
    for route in FILES:
        times = _times_of_rows(probe, reverse(route))
        if len(times) * PER >= FEWEST:
            tenth = max(1, len(times) // 10)
            for which, part in (("newest", times[:tenth]), ("oldest", times[-tenth:])):
                ms = round(sum(part) / len(part) * 1000, 2)
                yield Figure(Group.EXPORT, f"{route}, {which} rows", 0, ms)


def _times_of_rows(probe: Probe, path: str) -> list[float]:
    """Seconds that each 1,000 rows of a company's file took."""
    answer: Any = probe.browser.get(path)
    lines = islice(answer.streaming_content, EXPORT_ROWS)
    times, began = [], time.monotonic()
    for number, _line in enumerate(lines, 1):
        if number % PER == 0:
            times.append(time.monotonic() - began)
            began = time.monotonic()
    answer.close()
    return times
