"""Events about clicks."""

import time
from collections.abc import Iterator
from uuid import uuid4

import orjson
import pytest
from django.conf import settings

from accounts.models import Company, Mode
from catalogue.ids import uuid7
from links.clicks import counting, webhooks
from links.clicks.bot_detection import VisitorKind
from links.clicks.buffer import STREAM
from links.clicks.webhooks import EventRow
from links.models import Link
from storage.redis_client import blocking_redis_client
from tests.factories import EndpointFactory, LinkFactory
from webhooks.models import Event

NOW = int(time.time() * 1000)


@pytest.fixture(autouse=True)
def _group() -> Iterator[None]:
    webhooks.append_click_events()  # makes the group
    yield
    blocking_redis_client().delete(STREAM)


@pytest.fixture
def link(company: Company) -> Link:
    EndpointFactory.create(company=company)
    return LinkFactory.create(company=company)


def click(*clicks: tuple[Link, VisitorKind], batch: str = "") -> None:
    rows = [(link.id.hex, kind, NOW + n) for n, (link, kind) in enumerate(clicks)]
    blocking_redis_client().xadd(STREAM, {"id": batch or uuid4().hex, "batch": orjson.dumps(rows)})


def test_clicks_of_a_batch_are_one_event_for_each_link(link: Link) -> None:
    other = LinkFactory.create(company=link.company)
    click(
        (link, VisitorKind.PERSON),
        (other, VisitorKind.PERSON),
        (link, VisitorKind.PERSON),
        (link, VisitorKind.SCANNER),
    )

    webhooks.append_click_events()

    event = Event.objects.get(data__id=link.public_id)
    assert event.data == {
        "id": link.public_id,
        "short_url": f"{settings.SHORT_URL}/{link.slug}",
        "url": link.url,
        "new_clicks": 2,
        "clicks": 2,
        "clicked_at": event.data["clicked_at"],
        "test": False,
    }
    assert int(event.at.timestamp() * 1000) in {NOW + 2, NOW + 1}
    assert Event.objects.get(data__id=other.public_id).data["clicks"] == 1


def test_refused_event_keeps_others(link: Link) -> None:
    other = LinkFactory.create(company=link.company)
    rows = [
        EventRow(uuid7(), clicked.id, uuid7(), f"click:{at}:{clicked.pk}", 1, at)
        for clicked, at in [(link, NOW / 1000), (link, 1e18), (other, NOW / 1000)]
    ]

    webhooks.append_events(rows)

    ids = {event.data["id"] for event in Event.objects.all()}
    assert (ids, Event.objects.count()) == ({link.public_id, other.public_id}, 2)


def test_event_total_includes_uncounted_clicks(link: Link) -> None:
    click((link, VisitorKind.PERSON), (link, VisitorKind.PERSON))
    counting.count_clicks()  # of its own pace: here before the event, below after it
    webhooks.append_click_events()
    click((link, VisitorKind.PERSON))
    click((link, VisitorKind.PERSON))
    webhooks.append_click_events()
    counting.count_clicks()

    data = [event.data for event in Event.objects.order_by("at", "id")]

    assert sorted((row["new_clicks"], row["clicks"]) for row in data) == [(1, 3), (1, 4), (2, 2)]
    link.refresh_from_db()
    assert link.clicks == 4


@pytest.mark.parametrize("kind", [VisitorKind.PREVIEW, VisitorKind.SCANNER])
def test_clicks_of_bots_send_no_event(link: Link, kind: VisitorKind) -> None:
    click((link, kind))

    webhooks.append_click_events()

    assert not Event.objects.exists()


def test_links_without_an_endpoint_and_unknown_links_send_no_event(
    link: Link, company: Company
) -> None:
    click((LinkFactory.create(), VisitorKind.PERSON), (LinkFactory.build(), VisitorKind.PERSON))
    click((LinkFactory.create(company=company, mode=Mode.TEST), VisitorKind.PERSON))

    assert webhooks.append_click_events() == 2
    assert not Event.objects.exists()


@pytest.mark.parametrize(("mode", "events"), [(Mode.TEST, 0), (Mode.LIVE, 1)])
def test_only_first_clicks_of_test_links_send_events(
    company: Company, mode: Mode, events: int
) -> None:
    EndpointFactory.create(company=company, mode=mode)
    most = webhooks.CLICKS_OF_TEST_LINK
    click((LinkFactory.create(company=company, mode=mode, clicks=most), VisitorKind.PERSON))
    click((LinkFactory.create(company=company, mode=mode, clicks=most - 1), VisitorKind.PERSON))

    webhooks.append_click_events()

    assert Event.objects.count() == 1 + events


@pytest.mark.parametrize(("mode", "events"), [(Mode.TEST, 2), (Mode.LIVE, 3)])
def test_clicks_of_all_test_links_send_a_number_of_events_a_day(
    company: Company, mode: Mode, events: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is up to ten calls, repeated for a day, and anybody may sign up."""
    monkeypatch.setattr(webhooks, "TEST_EVENTS_A_DAY", 2)
    EndpointFactory.create(company=company, mode=mode)

    for _link in range(3):
        click((LinkFactory.create(company=company, mode=mode), VisitorKind.PERSON))
        webhooks.append_click_events()

    assert Event.objects.count() == events


def test_redelivered_batch_sends_one_event(link: Link) -> None:
    click((link, VisitorKind.PERSON), batch="a" * 32)
    click((link, VisitorKind.PERSON), batch="a" * 32)

    webhooks.append_click_events()

    assert Event.objects.count() == 1


def test_entries_of_dead_reader_are_read_again(link: Link) -> None:
    click((link, VisitorKind.PERSON))
    webhooks.CONSUMER.read(">")  # and no acknowledgement
    click((link, VisitorKind.PERSON))

    read = [webhooks.append_click_events() for _ in range(3)]

    assert read == [1, 1, 0]
    assert Event.objects.count() == 2


@pytest.mark.usefixtures("no_redis")
def test_missing_redis_is_tolerated() -> None:
    blocking_redis_client.cache_clear()
    try:
        assert webhooks.append_click_events() == 0
    finally:
        blocking_redis_client.cache_clear()


def test_vanished_stream_is_recreated(link: Link) -> None:
    blocking_redis_client().delete(STREAM)
    click((link, VisitorKind.PERSON))

    read = [webhooks.append_click_events() for _ in range(2)]

    assert read == [1, 0]
    assert Event.objects.count() == 1
