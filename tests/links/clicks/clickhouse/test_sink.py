"""Every click of the stream is in ClickHouse once, whatever dies on the way."""

import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from django.db import connection
from pytest_django import Settings

from links import tasks
from links.clicks import clickhouse_sink, clickhouse_tables, counting, stream
from links.clicks.bot_detection import VisitorKind
from links.clicks.buffer import STREAM
from links.models import ErasedClicks
from storage.clickhouse import RejectedError, UnavailableError
from storage.redis_client import blocking_redis_client
from tests.clickhouse_fake import fake_clickhouse
from tests.clickhouse_server import ClickHouseServer
from tests.factories import LinkFactory
from tests.links.clicks.clickhouse.stream_clicks import (
    add_entry,
    add_rows,
    be_complete,
    forget_lock,
)
from tests.sql import execute

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[4]
COLUMNS = "SELECT link_id, millis, kind, referrer, device, country"
COUNT = "SELECT count() FROM clicks FINAL"
# Dies where the server has the rows and Redis does not know.
KILLED_WRITER = """
import os, signal, django
django.setup()
from storage import clickhouse
from links.clicks import clickhouse_sink
insert = clickhouse.insert
def insert_and_die(*args):
    insert(*args)
    os.kill(os.getpid(), signal.SIGKILL)
clickhouse.insert = insert_and_die
clickhouse_sink.write_clicks()
"""


def test_click_is_written_as_postgresql_stores_it(clickhouse: ClickHouseServer) -> None:
    link = LinkFactory.create()
    add_entry(link.id, 2)

    assert clickhouse_sink.write_clicks() == 1
    counting.count_clicks()

    rows = execute(
        "SELECT link_id::text, round(extract(epoch FROM at) * 1000)::bigint::text, kind,"
        " referrer, device, country FROM links_click ORDER BY at"
    )
    stored = "\n".join("\t".join(row) for row in rows)
    assert clickhouse.ask(f"{COLUMNS} FROM clicks FINAL ORDER BY millis") == stored


def test_entry_that_is_added_twice_counts_once(clickhouse: ClickHouseServer) -> None:
    link = LinkFactory.create()
    batch = uuid4().hex
    millis = int(time.time() * 1000)
    for _ in range(2):  # Redis took the first one, and its answer was lost
        entry = {"id": batch, "batch": f'[["{link.id.hex}","person",{millis},"","",""]]'}
        blocking_redis_client().xadd(STREAM, entry)  # type: ignore[arg-type]
        clickhouse_sink.write_clicks()

    assert clickhouse.ask("SELECT count() FROM clicks") in {"1", "2"}
    assert clickhouse.ask(COUNT) == "1"


def test_clicks_in_one_millisecond_count_apart(clickhouse: ClickHouseServer) -> None:
    link = LinkFactory.create()
    millis = int(time.time() * 1000)
    add_rows(*([[link.id.hex, "person", millis, "", "", ""]] * 3))
    add_rows([link.id.hex, "person", millis, "", "", ""])

    clickhouse_sink.write_clicks()

    assert clickhouse.ask(COUNT) == "4"


@pytest.mark.django_db(transaction=True)
def test_kill_between_insert_and_acknowledgement(clickhouse: ClickHouseServer) -> None:
    add_entry(LinkFactory.create().id, 100)
    name = connection.settings_dict["NAME"]
    address = os.environ["DATABASE_URL"].split("?")
    base = address[0].rpartition("/")[0]
    environ = {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "CLICKHOUSE_URL": clickhouse.url,
        "DATABASE_URL": "?".join([f"{base}/{name}", *address[1:]]),
    }
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_WRITER], env={**os.environ, **environ}, cwd=ROOT, check=False
    )

    assert killed.returncode == -signal.SIGKILL
    assert clickhouse.ask(COUNT) == "100"
    assert clickhouse_sink.write_clicks() == 0  # the killed one's lock
    forget_lock()
    assert clickhouse_sink.write_clicks() == 1
    assert clickhouse.ask(COUNT) == "100"
    assert stream.sink_lag_seconds() == 0


def test_clicks_survive_an_outage_of_the_server(clickhouse: ClickHouseServer) -> None:
    link = LinkFactory.create()
    clickhouse_sink.write_clicks()  # makes the group
    add_entry(link.id, 3)
    clickhouse.kill()
    try:
        with pytest.raises(UnavailableError):
            clickhouse_sink.write_clicks()
        assert counting.count_clicks() == 1  # PostgreSQL's is not held back
    finally:
        clickhouse.start()

    assert clickhouse_sink.write_clicks() == 0  # it is left alone for a while
    forget_lock()
    assert clickhouse_sink.write_clicks() == 1

    link.refresh_from_db()
    assert link.clicks == 3
    assert clickhouse.ask(COUNT) == "3"


def test_bad_row_does_not_hold_up_others(clickhouse: ClickHouseServer) -> None:
    link = LinkFactory.create()
    add_entry(link.id)
    add_rows([link.id.hex, "person", int(time.time() * 1000), {"a": 1}, "", ""])
    add_rows(["not hexadecimal", "person", 1])
    add_entry(link.id)

    for _ in range(3):  # a rejection ends a round
        clickhouse_sink.write_clicks()

    assert clickhouse.ask(COUNT) == "2"
    assert (stream.sink_lag_seconds() or 0) > 0  # one waits as a dead letter


def test_clicks_of_unknown_and_erased_links_are_left_out(clickhouse: ClickHouseServer) -> None:
    erased = LinkFactory.create()
    link = LinkFactory.create()
    ErasedClicks.objects.create(link_id=erased.id, erased_at=erased.created_at)
    add_entry(erased.id)
    add_entry(uuid4())
    add_entry(link.id, kind=VisitorKind.SCANNER)

    clickhouse_sink.write_clicks()

    assert clickhouse.ask("SELECT link_id, kind FROM clicks") == f"{link.id}\tscanner"


def test_click_with_a_wrong_clock_counts_as_now(clickhouse: ClickHouseServer) -> None:
    add_rows([LinkFactory.create().id.hex, "person", 1000, "", "", ""])

    clickhouse_sink.write_clicks()

    now = time.time() * 1000
    assert now - 60_000 < int(clickhouse.ask("SELECT millis FROM clicks")) <= now


def test_missing_table_loses_nothing(clickhouse: ClickHouseServer) -> None:
    add_entry(LinkFactory.create().id)
    clickhouse.ask("RENAME TABLE clicks TO other")
    with pytest.raises(UnavailableError, match="code 60"):
        clickhouse_sink.write_clicks()
    clickhouse.ask("RENAME TABLE other TO clicks")
    forget_lock()

    assert clickhouse_sink.write_clicks() == 1

    assert clickhouse.ask(COUNT) == "1"


def test_refused_rows_are_distinguished(clickhouse: ClickHouseServer) -> None:
    from storage import clickhouse as client  # noqa: PLC0415 - the fixture has its name

    for line in (b'{"link_id": "x"}', b'{"kind": {"a": 1}}'):
        with pytest.raises(RejectedError):
            client.insert("clicks", line)


def test_clicks_wait_while_the_server_has_no_memory(settings: Settings) -> None:
    add_entry(LinkFactory.create().id, 8)
    with fake_clickhouse() as fake:
        settings.CLICKHOUSE_URL = f"http://127.0.0.1:{fake.port}/"
        fake.status = 500
        fake.response = "Code: 241. DB::Exception: Memory limit (total) exceeded"
        with pytest.raises(UnavailableError, match="code 241"):
            clickhouse_sink.write_clicks()
        fake.status = 200
        fake.response = ""
        fake.requests.clear()
        forget_lock()

        assert clickhouse_sink.write_clicks() == 1

    assert fake.requests[0][2].count(b"link_id") == 8


def test_refused_click_moves_completeness(settings: Settings) -> None:
    be_complete()
    before = clickhouse_tables.complete_since()
    add_entry(LinkFactory.create().id)
    with fake_clickhouse() as fake:
        settings.CLICKHOUSE_URL = f"http://127.0.0.1:{fake.port}/"
        fake.status = 400
        fake.response = "Code: 117. DB::Exception: Unknown field: country"
        clickhouse_sink.write_clicks()

    after = clickhouse_tables.complete_since()
    assert before is not None
    assert after is not None
    assert after - before > timedelta(days=4)


def test_task_does_nothing_unless_configured(settings: Settings) -> None:
    settings.CLICKHOUSE_URL = ""
    add_entry(LinkFactory.create().id)

    tasks.write_clicks_to_clickhouse()
    tasks.maintain_clickhouse()

    assert blocking_redis_client().xinfo_groups(STREAM) == []


def test_task_survives_an_unavailable_server(settings: Settings) -> None:
    settings.CLICKHOUSE_URL = "http://127.0.0.1:1/"
    add_entry(LinkFactory.create().id)

    tasks.write_clicks_to_clickhouse()
    tasks.maintain_clickhouse()

    assert clickhouse_tables.complete_since() is not None
    assert (stream.sink_lag_seconds() or 0) > 0
