"""Months go as PostgreSQL's do; erased links leave no click."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from links.clicks import clickhouse_sink, clickhouse_tables
from links.models import ErasedClicks, Link
from tests.clickhouse_server import ClickHouseServer
from tests.factories import LinkFactory
from tests.links.clicks.clickhouse.stream_clicks import add_entry
from tests.links.visiting import wait_until

pytestmark = pytest.mark.django_db
INSERT = """
INSERT INTO clicks
VALUES ('0192f000-0000-7000-8000-000000000001', {millis}, 1, 'person', '', '', '')
"""


def note_erasure(link: Link, *, ago: timedelta) -> None:
    with connection.cursor() as cursor:
        clickhouse_sink.note_erasure(cursor, [link.id])
    ErasedClicks.objects.filter(link_id=link.id).update(erased_at=timezone.now() - ago)


def test_command_makes_the_table_once(
    clickhouse: ClickHouseServer, capsys: pytest.CaptureFixture[str]
) -> None:
    clickhouse.ask("DROP TABLE clicks")

    call_command("clickhouse_tables")
    since = clickhouse_tables.complete_since()
    call_command("clickhouse_tables")

    assert capsys.readouterr().out.splitlines() == ["clicks: created", "clicks: was there"]
    assert since == clickhouse_tables.complete_since()


def test_old_months_are_dropped(clickhouse: ClickHouseServer, settings: Settings) -> None:
    kept = timezone.now() - timedelta(days=settings.RAW_RETENTION)
    old = kept.replace(day=1) - timedelta(days=1)
    for moment in (old, kept, timezone.now()):
        millis = int(moment.timestamp() * 1000)
        clickhouse.ask(INSERT.format(millis=millis))

    assert clickhouse_tables.drop_old_months() == 1
    assert clickhouse_tables.drop_old_months() == 0

    months = clickhouse.ask("SELECT DISTINCT intDiv(millis, 1000) FROM clicks ORDER BY 1")
    seen = {datetime.fromtimestamp(int(line), UTC).month for line in months.splitlines()}
    assert seen == {kept.month, timezone.now().month}


def test_erased_links_leave_no_click(clickhouse: ClickHouseServer) -> None:
    erased = LinkFactory.create()
    other = LinkFactory.create()
    add_entry(erased.id, 3)
    add_entry(other.id, 2)
    clickhouse_sink.write_clicks()
    note_erasure(erased, ago=timedelta(hours=1))

    assert clickhouse_sink.erase() == 1
    wait_until(lambda: clickhouse_sink.erase() == 0)

    assert clickhouse.ask("SELECT DISTINCT link_id FROM clicks") == str(other.id)
    assert ErasedClicks.objects.get().is_gone


def test_erasure_waits_for_inserts_that_had_begun(clickhouse: ClickHouseServer) -> None:
    link = LinkFactory.create()
    add_entry(link.id)
    clickhouse_sink.write_clicks()
    note_erasure(link, ago=timedelta(minutes=1))

    assert clickhouse_sink.erase() == 0

    assert not ErasedClicks.objects.get().is_gone
    assert clickhouse.ask("SELECT count() FROM clicks") == "1"


def test_note_is_forgotten_once_the_stream_cannot_hold_clicks(clickhouse: ClickHouseServer) -> None:
    note_erasure(LinkFactory.create(), ago=timedelta(days=7))
    note_erasure(LinkFactory.create(), ago=timedelta(days=8))

    clickhouse_sink.erase()

    assert ErasedClicks.objects.count() == 1
    assert ErasedClicks.objects.get().erased_at > timezone.now() - timedelta(days=7, hours=1)


def test_nothing_is_noted_without_clickhouse(settings: Settings) -> None:
    settings.CLICKHOUSE_URL = ""

    note_erasure(LinkFactory.create(), ago=timedelta(0))

    assert not ErasedClicks.objects.exists()


def test_time_of_completeness_is_that_of_the_group(settings: Settings) -> None:
    settings.CLICKHOUSE_URL = "http://127.0.0.1:1/"
    before = time.time()

    clickhouse_sink.write_clicks()

    result = clickhouse_tables.complete_since()
    assert result is not None
    assert before <= result.timestamp() <= time.time()


@pytest.mark.parametrize("url", ["", "http://127.0.0.1:1/"])
def test_command_fails_without_a_server(settings: Settings, url: str) -> None:
    settings.CLICKHOUSE_URL = url

    with pytest.raises(CommandError):
        call_command("clickhouse_tables")
