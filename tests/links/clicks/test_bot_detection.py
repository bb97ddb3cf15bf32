"""Bots are told from people by headers and by the time of the visit."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from uuid import uuid4

import orjson
import pytest
from django.utils import timezone

from accounts.models import Company, Event, Mode
from channels.models import Attempt
from config.storage.redis_client import blocking_redis_client
from links.clicks import bot_detection, counting, delivery_proof, webhooks
from links.clicks.bot_detection import VisitorKind
from links.clicks.buffer import STREAM
from links.models import Link
from tests.factories import AttemptFactory, EndpointFactory, LinkFactory, MessageFactory

pytestmark = pytest.mark.django_db

HANDED_OVER = timezone.now() - timedelta(minutes=1)
MOMENT = timedelta(milliseconds=500)
WINDOW = timedelta(seconds=bot_detection.SCANNER_WINDOW)

IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Safari/604.1"

ENGINE = "(KHTML, like Gecko)"
IOS = f"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 {ENGINE}"
ANDROID = f"Mozilla/5.0 (Linux; Android 15; Pixel 9 Build/X; wv) AppleWebKit/537.36 {ENGINE}"
CHROME = "Version/4.0 Chrome/140.0.0.0 Mobile Safari/537.36"

PEOPLE = {
    "Safari": IPHONE,
    "Firefox": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Opera Mini": "Opera/9.80 (J2ME/MIDP; Opera Mini/9.80; U; ru) Presto/2.5.25 Version/10.54",
    "inside Telegram": f"{ANDROID} {CHROME} Telegram-Android/12.3.1 (X; Android 15; SDK 35; HIGH)",
    "inside WhatsApp": f"{ANDROID} {CHROME} WhatsApp/2.24.12.78",
    "inside WhatsApp, iPhone": f"{IOS} Mobile/15E148 WhatsApp/2.24.15.78",
    "inside Instagram": f"{IOS} Mobile/15E148 Instagram 330.0.0.25.84",
    "inside Facebook": f"{IOS} Mobile/15E148 [FBAN/FBIOS;FBAV/470.0.0.0]",
    "inside any app": f"{IOS} Mobile/15E148",
}
MACHINES = {
    "no client we know": ("SomeClient", VisitorKind.SCANNER),
    "a messenger": ("Signal-Android/7.0", VisitorKind.SCANNER),
    "another messenger": ("Viber/22.5.0", VisitorKind.SCANNER),
    "an app's own calls": ("MyApp/1 CFNetwork/1568.100.1 Darwin/24.0.0", VisitorKind.SCANNER),
    "a phone's own calls": ("Dalvik/2.1.0 (Linux; U; Android 15)", VisitorKind.SCANNER),
    "a browser's name, not first": ("Fetcher Mozilla/5.0 (X11; Linux)", VisitorKind.SCANNER),
    "nothing": ("", VisitorKind.SCANNER),
    "a crawler in a browser's name": (
        f"{ANDROID} {CHROME} (compatible; xbot)",
        VisitorKind.SCANNER,
    ),
    "WhatsApp": ("WhatsApp/2.23.20.0 A", VisitorKind.PREVIEW),
    "anything that calls itself WhatsApp": ("WhatsApp/2", VisitorKind.PREVIEW),
    "an iPhone's preview": (
        f"{IOS} facebookexternalhit/1.1 Facebot Twitterbot/1.0",
        VisitorKind.PREVIEW,
    ),
}


@pytest.mark.parametrize("agent", PEOPLE.values(), ids=PEOPLE)
def test_browser_is_a_person(agent: str) -> None:
    assert (
        bot_detection.kind_of({"REQUEST_METHOD": "GET", "HTTP_USER_AGENT": agent})
        == VisitorKind.PERSON
    )


@pytest.mark.parametrize(("agent", "kind"), MACHINES.values(), ids=MACHINES)
def test_other_client_is_not_a_person(agent: str, kind: VisitorKind) -> None:
    assert bot_detection.kind_of({"REQUEST_METHOD": "GET", "HTTP_USER_AGENT": agent}) == kind


def test_missing_user_agent_is_a_scanner() -> None:
    assert bot_detection.kind_of({"REQUEST_METHOD": "GET"}) == VisitorKind.SCANNER


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
    """Ends the first attempt in the given state; returns when the SMS was handed over."""
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


def outcome_of(link: Link) -> tuple[int, int, bool, int]:
    """Clicks by people, clicks by scanners, whether one proved the delivery, and events sent."""
    link.refresh_from_db()
    events = Event.objects.filter(kind="link.clicked").count()
    return link.clicks, link.scanners, link.clicked_at is not None, events


@pytest.mark.parametrize(
    "at",
    [HANDED_OVER - MOMENT + timedelta(milliseconds=1), HANDED_OVER, HANDED_OVER + WINDOW - MOMENT],
)
def test_visitor_during_the_hand_over_is_a_scanner(company: Company, at: datetime) -> None:
    link = sent_link(company, accepted_at=HANDED_OVER)

    visit(link, at)

    assert outcome_of(link) == (0, 1, False, 0)


@pytest.mark.parametrize("at", [HANDED_OVER + WINDOW + MOMENT, HANDED_OVER - 2 * MOMENT])
def test_visitor_outside_the_hand_over_is_a_person(company: Company, at: datetime) -> None:
    link = sent_link(company, accepted_at=HANDED_OVER)

    visit(link, at)

    assert outcome_of(link) == (1, 0, True, 1)


def test_person_after_a_scanner_is_counted(company: Company) -> None:
    link = sent_link(company, accepted_at=HANDED_OVER)

    visit(link, HANDED_OVER)
    visit(link, HANDED_OVER + WINDOW + MOMENT)

    assert outcome_of(link) == (1, 1, True, 1)
    assert link.clicked_at == link.first_click_at


@pytest.mark.parametrize(("late", "expected"), [(0, (0, 1, False, 0)), (3, (1, 0, True, 1))])
def test_attempt_without_an_answer_is_timed_from_its_start(
    company: Company, late: int, expected: tuple[int, int, bool, int]
) -> None:
    link = sent_link(company, accepted_at=None)

    visit(link, HANDED_OVER + timedelta(seconds=late))

    assert outcome_of(link) == expected


def test_timing_rule_applies_to_test_keys(company: Company) -> None:
    link = sent_link(company, accepted_at=HANDED_OVER, mode=Mode.TEST)

    visit(link, HANDED_OVER + timedelta(milliseconds=60))

    assert outcome_of(link) == (0, 1, False, 0)


def test_timing_rule_ignores_links_without_a_message(company: Company) -> None:
    EndpointFactory.create(company=company)
    link = LinkFactory.create(company=company)

    visit(link, timezone.now())

    assert outcome_of(link) == (1, 0, False, 1)


@pytest.mark.parametrize("moment", [-MOMENT / 2, MOMENT])
def test_reader_of_the_first_message_is_a_person_while_the_next_goes_out(
    company: Company, moment: timedelta
) -> None:
    link = sent_link(company, accepted_at=HANDED_OVER)
    handed_over = next_channel(link, 10 * WINDOW)

    visit(link, handed_over + moment)

    assert outcome_of(link) == (1, 0, True, 1)


def test_attempt_without_an_answer_may_have_reached_a_person(company: Company) -> None:
    link = sent_link(company, accepted_at=None)
    handed_over = next_channel(link, 10 * WINDOW)

    visit(link, handed_over + MOMENT)

    assert outcome_of(link) == (1, 0, True, 1)


@pytest.mark.parametrize(("state", "why"), [("failed", "rejected"), ("expired", "")])
def test_undelivered_first_message_excuses_no_early_visitor_of_the_next(
    company: Company, state: str, why: str
) -> None:
    link = sent_link(company, accepted_at=HANDED_OVER)
    handed_over = next_channel(link, 10 * WINDOW, state=state, why=why)

    visit(link, handed_over + MOMENT)

    assert outcome_of(link) == (0, 1, False, 0)


def test_scanner_of_the_first_channel_stays_a_scanner_when_the_next_follows_at_once(
    company: Company,
) -> None:
    link = sent_link(company, accepted_at=HANDED_OVER)
    next_channel(link, WINDOW / 2)

    visit(link, HANDED_OVER + MOMENT)
    visit(link, HANDED_OVER + WINDOW + MOMENT)  # late enough to have read the first

    assert outcome_of(link) == (1, 1, True, 1)
