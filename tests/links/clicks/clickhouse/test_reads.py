"""ClickHouse's statistics are PostgreSQL's; where they would not be, PostgreSQL answers."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from django.utils import timezone
from pytest_django import Settings
from structlog.testing import CapturingLogger

from links.clicks import clickhouse_sink, clickhouse_tables, counting, statistics
from links.clicks.bot_detection import VisitorKind
from links.clicks.statistics import Point, Visitors
from links.models import ErasedClicks, Link
from storage.redis_client import redis_client
from tests.clickhouse_fake import fake_clickhouse
from tests.clickhouse_server import ClickHouseServer
from tests.factories import LinkFactory
from tests.links.clicks.clickhouse.stream_clicks import add_rows, be_complete, forget_lock
from tests.links.visiting import without_redis

pytestmark = pytest.mark.django_db
Answers = tuple[Visitors, list[Point]]
NAMES = ["", "a.example", "B.example", "ä", "a b", "кот", "_", *(f"{n}.example" for n in range(12))]


@pytest.fixture(autouse=True)
def _reads(settings: Settings) -> Iterator[None]:
    settings.CLICKHOUSE_READS = True
    statistics._pause.reset()
    yield
    statistics._pause.reset()


@pytest.fixture
def link(clickhouse: ClickHouseServer) -> Link:
    """A link with clicks of the last days in both stores, some of them twice in ClickHouse."""
    link = LinkFactory.create()
    other = LinkFactory.create()
    be_complete()
    chance = Random(7)  # noqa: S311 - the same each time
    now = int(time.time() * 1000)
    for clicked in (link, link, other):
        rows = [
            [
                clicked.id.hex,
                chance.choice(list(VisitorKind)),
                now - chance.randrange(40 * 3_600_000),
                chance.choice(NAMES),
                chance.choice(["ios", "android", ""]),
                chance.choice(["KZ", "RU", "DE", ""]),
            ]
            for _ in range(300)
        ]
        add_rows(*rows)
    counting.count_clicks()
    clickhouse_sink.CONSUMER.consume(clickhouse_sink.write)
    clickhouse.ask("INSERT INTO clicks SELECT * FROM clicks LIMIT 200")
    return link


def answers(link: Link, start: datetime, end: datetime) -> Answers:
    hours = statistics.by_hour(link, statistics.hour_of(start), end)
    return statistics.visitors(link, start, end), hours


@pytest.mark.parametrize("hours", [0.5, 7, 48])
@pytest.mark.parametrize("ago", [0, 11.37])
def test_both_stores_give_the_same(
    link: Link, settings: Settings, caplog: pytest.LogCaptureFixture, hours: float, ago: float
) -> None:
    end = timezone.now() - timedelta(hours=ago)
    start = end - timedelta(hours=hours)

    result = answers(link, start, end)
    is_asked = statistics.visitors_in_clickhouse(link, start, end, 1) is not None
    settings.CLICKHOUSE_READS = False

    assert is_asked
    assert result == answers(link, start, end)


def test_bounds_are_exact(clickhouse: ClickHouseServer) -> None:
    link = LinkFactory.create()
    be_complete()
    at = timezone.now().replace(microsecond=0) - timedelta(hours=1)
    add_rows([link.id.hex, "person", int(at.timestamp() * 1000), "", "ios", ""])
    clickhouse_sink.write_clicks()
    tick = timedelta(microseconds=1)

    def count(start: datetime, end: datetime) -> int:
        rows = statistics.visitors_in_clickhouse(link, start, end, 10)
        assert rows is not None
        return sum(row.clicks for row in rows if row.breakdown == "devices")

    assert count(at, at + tick) == 1
    assert count(at - tick, at) == 0
    assert count(at + tick, at + timedelta(days=1)) == 0


def test_absent_server_is_reported_once(link: Link, settings: Settings) -> None:
    end = timezone.now()
    expected = answers(link, end - timedelta(days=2), end)
    settings.CLICKHOUSE_URL = "http://127.0.0.1:1/"

    assert answers(link, end - timedelta(days=2), end) == expected
    assert statistics._pause.is_active


@pytest.mark.parametrize(
    "page", ["<html>maintenance</html>", '{"status": "ok"}', "[1]", '{"hour":']
)
def test_page_of_a_proxy_leaves_it_to_postgresql(settings: Settings, page: str) -> None:
    link = LinkFactory.create()
    now = timezone.now()
    be_complete()
    with fake_clickhouse() as fake:
        settings.CLICKHOUSE_URL = f"http://127.0.0.1:{fake.port}/"
        fake.response = page

        assert answers(link, now - timedelta(hours=1), now)[0] == Visitors([], [], [])

    assert fake.requests


def test_reads_from_clickhouse_are_off_by_default(link: Link, settings: Settings) -> None:
    settings.CLICKHOUSE_READS = False

    assert statistics.visitors_in_clickhouse(link, timezone.now(), timezone.now(), 10) is None


def test_period_before_completeness_is_postgresqls(link: Link) -> None:
    now = timezone.now()
    Link.objects.filter(pk=link.pk).update(created_at=now - timedelta(days=9))
    link.refresh_from_db()

    assert statistics.hours_in_clickhouse(link, now - timedelta(days=6), now) is None
    assert statistics.hours_in_clickhouse(link, now - timedelta(days=4), now)
    clickhouse_tables.record_loss(time.time())
    assert statistics.hours_in_clickhouse(link, now - timedelta(days=4), now) is None


def test_late_sink_leaves_it_to_postgresql(link: Link) -> None:
    now = timezone.now()
    moment = int((time.time() - 2 * statistics.MAX_LAG) * 1000)
    redis_client().delete("clicks")
    forget_lock()
    clickhouse_sink.write_clicks()  # makes the group again
    redis_client().xadd("clicks", {"id": "a"}, id=f"{moment}-0")

    assert statistics.hours_in_clickhouse(link, now, now) is None


def test_erased_link_is_postgresqls(link: Link) -> None:
    ErasedClicks.objects.create(link_id=link.pk, erased_at=timezone.now())

    assert statistics.hours_in_clickhouse(link, timezone.now(), timezone.now()) is None
    assert timedelta(0) < clickhouse_sink.SETTLED_AFTER


def test_without_redis_postgresql_answers(link: Link, settings: Settings) -> None:
    now = timezone.now()

    with without_redis(settings):
        assert statistics.hours_in_clickhouse(link, now, now) is None


def test_failure_is_in_the_log(
    link: Link, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.CLICKHOUSE_URL = "http://kvitok:hidden@127.0.0.1:1/"
    now = timezone.now()

    log = CapturingLogger()
    monkeypatch.setattr(statistics, "log", log)  # tests log only errors

    for _ in range(2):
        assert statistics.hours_in_clickhouse(link, now, now) is None

    (call,) = log.calls
    assert (call.method_name, call.args) == ("warning", ("clickhouse_not_read",))
    assert "hidden" not in str(call)


def test_postgresql_replaces_an_unavailable_server(settings: Settings) -> None:
    settings.CLICKHOUSE_URL = "http://127.0.0.1:1/"
    link = LinkFactory.create()
    be_complete()

    assert statistics.visitors(link, link.created_at, timezone.now()) == Visitors([], [], [])

    assert statistics._pause.is_active


def test_answer_is_read_and_one_link_requested(settings: Settings) -> None:
    link = LinkFactory.create()
    with fake_clickhouse() as fake:
        settings.CLICKHOUSE_URL = f"http://127.0.0.1:{fake.port}/"
        be_complete()
        # Before 25.8 64-bit integers come as strings.
        fake.response = '{"hour": 498190, "clicks": "3", "previews": "0", "scanners": "1"}\n'
        result = statistics.hours_in_clickhouse(link, timezone.now(), timezone.now())
        ((_path, _authorization, query),) = fake.requests

    assert result == [Point(datetime(2026, 10, 31, 22, tzinfo=UTC), 3, 0, 1)]
    assert f"WHERE link_id = toUUID('{link.pk}') AND millis >= ".encode() in query
