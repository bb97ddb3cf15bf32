"""The same clicks in PostgreSQL and in ClickHouse: how fast they are written and read, how large.

    CLICKHOUSE_URL=http://… python -m config.local.embedded -- python -m tools.click_stores

PostgreSQL is a temporary server; the database in CLICKHOUSE_URL must have no table of clicks.
"""

import argparse
import os
import time
from collections.abc import Callable
from datetime import timedelta
from random import Random
from statistics import median
from uuid import UUID, uuid4

import django

from config.local.demo_environment import new_secrets

os.environ |= {"ENVIRONMENT": "test", "DJANGO_SETTINGS_MODULE": "config.settings"} | new_secrets()
django.setup()

from django.core.management import call_command  # noqa: E402 - after the setup
from django.db import connection  # noqa: E402
from django.test import override_settings  # noqa: E402
from django.utils import timezone  # noqa: E402

from accounts.models import Company  # noqa: E402
from config.storage import clickhouse  # noqa: E402
from links.clicks import counting, partitions, statistics  # noqa: E402
from links.clicks.clickhouse import completeness, reads, sink, tables  # noqa: E402
from links.clicks.stream_entries import Batch, Click  # noqa: E402
from links.models import Link  # noqa: E402

PER_ENTRY, ENTRIES = 500, 10  # clicks of a flush, flushes of a transaction of the counter
SINK_ENTRIES = 100
COUNTED = 200_000  # clicks that the counter stores; the others are copied into its table
LINKS, HOT_SHARE = 20_000, 0.1  # one link has so much of all clicks
REPEATS = 7
KINDS = ("person", "person", "person", "preview", "scanner")
DEVICES = ("android", "android", "ios", "windows", "")
COUNTRIES = ("RU", "RU", "RU", "KZ", "BY", "UZ", "")
HOSTS = ("", "", "", *(f"site-{n}.example" for n in range(200)))
COPY = "COPY links_click (link_id, at, kind, referrer, device, country) FROM STDIN"
SIZE = "SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree('links_click')"
PARTS = """
SELECT sum(bytes_on_disk) AS size FROM system.parts
WHERE active AND database = currentDatabase() AND table = 'clicks'"""
ROWS = "SELECT count() AS number FROM clicks FINAL"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.click_stores", description=__doc__)
    parser.add_argument("--clicks", type=int, default=5_000_000)
    number = parser.parse_args().clicks
    call_command("migrate", verbosity=0)
    if not tables.create():
        parser.error("there is a table of clicks: name another database")
    completeness.start()
    links = make_links()
    write(list(links), number)
    say_sizes(number)
    ask(links[0], "the link with a tenth of all clicks")
    ask(links[1], "a usual link")


def make_links() -> list[Link]:
    company = Company.objects.create(name="Measured", brand="Measured")
    made = [
        Link(company=company, mode="live", slug=f"s{n}", key=f"k{n}", url="https://example.com/")
        for n in range(LINKS)
    ]
    return Link.objects.bulk_create(made, batch_size=1000)


def write(links: list[Link], number: int) -> None:
    chance = Random(1)  # noqa: S311 - the same clicks each time
    ids = [link.pk for link in links]
    spent = {"counted": 0.0, "copied": 0.0, "sink": 0.0}
    for first in range(0, number, PER_ENTRY * SINK_ENTRIES):
        batches = [batch(chance, ids) for _ in range(SINK_ENTRIES)]
        store, name = (count, "counted") if first < COUNTED else (copy, "copied")
        spent[name] += seconds(lambda store=store, batches=batches: store(batches))  # type: ignore[misc]
        spent["sink"] += seconds(lambda batches=batches: sink.write(batches))  # type: ignore[misc]
    say(f"PostgreSQL, as the counter does: {min(number, COUNTED) / spent['counted']:,.0f} clicks/s")
    say(f"ClickHouse, as the sink does: {number / spent['sink']:,.0f} clicks/s")


def batch(chance: Random, ids: list[UUID]) -> Batch:
    now = int(time.time() * 1000)
    clicks = [
        Click(
            ids[0] if chance.random() < HOT_SHARE else chance.choice(ids),
            chance.choice(KINDS),
            now - chance.randrange(47 * 3_600_000),
            chance.choice(HOSTS),
            chance.choice(DEVICES),
            chance.choice(COUNTRIES),
        )
        for _ in range(PER_ENTRY)
    ]
    return Batch(uuid4().hex, clicks)


def count(batches: list[Batch]) -> None:
    for first in range(0, len(batches), ENTRIES):
        counting.count(batches[first : first + ENTRIES])


def copy(batches: list[Batch]) -> None:
    rows = [counting.row_of(click) for one in batches for click in one.clicks]
    partitions.ensure(*{partitions.month_of(row.at) for row in rows})
    with connection.cursor() as cursor, cursor.copy(COPY) as lines:
        for row in rows:
            lines.write_row(row)


def say_sizes(number: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE links_click")
        cursor.execute(SIZE)
        (size,) = cursor.fetchone()
    clickhouse.execute("OPTIMIZE TABLE clicks FINAL")
    (parts,), (rows,) = clickhouse.read(PARTS), clickhouse.read(ROWS)
    say(f"PostgreSQL: {size / number:.1f} bytes a click, with the index")
    say(f"ClickHouse: {int(parts['size']) / number:.1f} bytes a click; {rows['number']} rows")


def ask(link: Link, name: str) -> None:
    end = timezone.now()
    start = end - timedelta(hours=48)
    say(f"{name}:")
    for store, is_read in (("PostgreSQL", False), ("ClickHouse", True)):
        with override_settings(CLICKHOUSE_READS=is_read):
            if is_read and reads.visitors(link, start, end, 1) is None:
                raise SystemExit("ClickHouse does not answer")
            visitors = timed(lambda: statistics.visitors(link, start, end))
            hours = timed(lambda: statistics.by_hour(link, statistics.hour_of(start), end))
        say(f"  {store}: visitors {visitors:.1f} ms, hours {hours:.1f} ms")


def timed(work: Callable[[], object]) -> float:
    return 1000 * median(seconds(work) for _ in range(REPEATS))


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
