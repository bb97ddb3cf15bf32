"""What calls itself a browser and comes with the hand-over is no person, to anybody who asks."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from uuid import uuid4

import orjson
import pytest
from django.utils import timezone

from accounts.models import Company, Event, Mode
from channels.models import Attempt
from config.redis_client import blocking_redis_client
from links.clicks import classification, counting, delivery_proof, webhooks
from links.clicks.buffer import STREAM
from links.clicks.visitor_headers import VisitorKind
from links.models import Link
from tests.factories import AttemptFactory, EndpointFactory, LinkFactory, MessageFactory

pytestmark = pytest.mark.django_db

HANDED_OVER = timezone.now() - timedelta(minutes=1)
MOMENT = timedelta(milliseconds=500)
HASTE = timedelta(seconds=classification.HASTE)


@pytest.fixture(autouse=True)
def _groups() -> Iterator[None]:
    blocking_redis_client().delete(STREAM)
    read_all()  # makes the groups
    yield
    blocking_redis_client().delete(STREAM)


def read_all() -> None:
    counting.count_clicks()
    delivery_proof.prove_clicks()
    webhooks.append_click_events()


def sent_link(company: Company, *, accepted_at: datetime | None, mode: Mode = Mode.LIVE) -> Link:
    EndpointFactory.create(company=company, mode=mode)
    message = MessageFactory.create(company=company, mode=mode, kind="link", state="delivered")
    link = LinkFactory.create(company=company, mode=mode, message_id=message.pk)
    attempt = AttemptFactory.create(message=message, state="delivered")
    times = {"started_at": HANDED_OVER - MOMENT, "accepted_at": accepted_at}
    Attempt.objects.filter(pk=attempt.pk).update(**times)
    return link


def next_channel(
    link: Link, after: timedelta, *, state: str = "expired", why: str = "patience"
) -> datetime:
    """When the SMS was handed over, after the first try ended so."""
    assert link.message_id is not None
    first = Attempt.objects.get(message_id=link.message_id)
    Attempt.objects.filter(pk=first.pk).update(state=state, error_class=why)
    second = AttemptFactory.create(message=first.message, n=2, channel="sms", state="sent")
    at = HANDED_OVER + after
    Attempt.objects.filter(pk=second.pk).update(started_at=at - MOMENT, accepted_at=at)
    return at


def visit(link: Link, at: datetime) -> None:
    rows = [[link.id.hex, VisitorKind.PERSON, int(at.timestamp() * 1000), "", "", ""]]
    blocking_redis_client().xadd(STREAM, {"id": uuid4().hex, "batch": orjson.dumps(rows)})
    read_all()


def heard(link: Link) -> tuple[int, int, bool, int]:
    """(people, scanners) counted, whether a click proved the delivery, events told."""
    link.refresh_from_db()
    told = Event.objects.filter(kind="link.clicked").count()
    return link.clicks, link.scanners, link.clicked_at is not None, told


@pytest.mark.parametrize(
    "at",
    [HANDED_OVER - MOMENT + timedelta(milliseconds=1), HANDED_OVER, HANDED_OVER + HASTE - MOMENT],
)
def test_visitor_in_the_moment_of_hand_over_is_a_scanner(company: Company, at: datetime) -> None:
    link = sent_link(company, accepted_at=HANDED_OVER)

    visit(link, at)

    assert heard(link) == (0, 1, False, 0)


@pytest.mark.parametrize("at", [HANDED_OVER + HASTE + MOMENT, HANDED_OVER - 2 * MOMENT])
def test_visitor_at_any_other_time_is_a_person(company: Company, at: datetime) -> None:
    link = sent_link(company, accepted_at=HANDED_OVER)

    visit(link, at)

    assert heard(link) == (1, 0, True, 1)


def test_scanner_is_followed_by_the_person(company: Company) -> None:
    link = sent_link(company, accepted_at=HANDED_OVER)

    visit(link, HANDED_OVER)
    visit(link, HANDED_OVER + HASTE + MOMENT)

    assert heard(link) == (1, 1, True, 1)
    assert link.clicked_at == link.first_click_at


@pytest.mark.parametrize(("late", "expected"), [(0, (0, 1, False, 0)), (3, (1, 0, True, 1))])
def test_call_without_an_answer_is_timed_from_its_beginning(
    company: Company, late: int, expected: tuple[int, int, bool, int]
) -> None:
    link = sent_link(company, accepted_at=None)

    visit(link, HANDED_OVER + timedelta(seconds=late))

    assert heard(link) == expected


def test_test_keys_link_opened_at_hand_over_is_a_scanners_click_too(company: Company) -> None:
    link = sent_link(company, accepted_at=HANDED_OVER, mode=Mode.TEST)

    visit(link, HANDED_OVER + timedelta(milliseconds=60))

    assert heard(link) == (0, 1, False, 0)


def test_link_that_went_out_in_no_message_knows_no_haste(company: Company) -> None:
    EndpointFactory.create(company=company)
    link = LinkFactory.create(company=company)

    visit(link, timezone.now())

    assert heard(link) == (1, 0, False, 1)


@pytest.mark.parametrize("moment", [-MOMENT / 2, MOMENT])
def test_who_opens_the_first_channels_message_while_the_next_goes_out_is_a_person(
    company: Company, moment: timedelta
) -> None:
    link = sent_link(company, accepted_at=HANDED_OVER)
    handed_over = next_channel(link, 10 * HASTE)

    visit(link, handed_over + moment)

    assert heard(link) == (1, 0, True, 1)


def test_call_without_an_answer_may_have_come_to_a_person(company: Company) -> None:
    link = sent_link(company, accepted_at=None)
    handed_over = next_channel(link, 10 * HASTE)

    visit(link, handed_over + MOMENT)

    assert heard(link) == (1, 0, True, 1)


@pytest.mark.parametrize(("state", "why"), [("failed", "rejected"), ("expired", "")])
def test_message_that_never_came_lets_nobody_be_quick_with_the_next(
    company: Company, state: str, why: str
) -> None:
    link = sent_link(company, accepted_at=HANDED_OVER)
    handed_over = next_channel(link, 10 * HASTE, state=state, why=why)

    visit(link, handed_over + MOMENT)

    assert heard(link) == (0, 1, False, 0)


def test_scanner_of_the_first_channel_stays_one_when_the_next_follows_at_once(
    company: Company,
) -> None:
    link = sent_link(company, accepted_at=HANDED_OVER)
    next_channel(link, HASTE / 2)

    visit(link, HANDED_OVER + MOMENT)
    visit(link, HANDED_OVER + HASTE + MOMENT)  # of the first they had the time to read

    assert heard(link) == (1, 1, True, 1)
