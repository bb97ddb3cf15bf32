"""Bots are told from people by headers and by the time of the visit."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from uuid import uuid4

import orjson
import pytest
from django.utils import timezone
from pytest_django import Settings

from accounts.models import Company, Mode
from channels.models import Attempt
from links.clicks import bot_detection, counting, delivery_proof, webhooks
from links.clicks.bot_detection import VisitorKind
from links.clicks.buffer import STREAM
from links.models import Link
from storage.redis_client import blocking_redis_client
from tests.factories import AttemptFactory, EndpointFactory, LinkFactory, MessageFactory
from tests.links.visiting import BROWSER_ENVIRON
from webhooks.models import Event

pytestmark = pytest.mark.django_db

HANDED_OVER = timezone.now() - timedelta(minutes=1)
MOMENT = timedelta(milliseconds=500)
WINDOW = timedelta(seconds=bot_detection.SCANNER_WINDOW)

LAYOUT = "(KHTML, like Gecko)"
IOS = f"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 {LAYOUT}"
VIEW = f"Mozilla/5.0 (Linux; Android 15; Pixel 9 Build/X; wv) AppleWebKit/537.36 {LAYOUT}"
CHROME = "Version/4.0 Chrome/140.0.0.0 Mobile Safari/537.36"
WINDOWS = f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 {LAYOUT}"
ANDROID = f"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 {LAYOUT}"
MAC = f"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 {LAYOUT}"
OPERA_MINI = "Opera/9.80 (J2ME/MIDP; Opera Mini/9.80; U; ru) Presto/2.5.25 Version/10.54"

PEOPLE = {
    "Chrome": f"{WINDOWS} Chrome/150.0.0.0 Safari/537.36",
    "Edge": f"{WINDOWS} Chrome/150.0.0.0 Safari/537.36 Edg/150.0.0.0",
    "Chrome, Android": f"{ANDROID} Chrome/158.0.0.0 Mobile Safari/537.36",
    "Yandex": f"{WINDOWS} Chrome/140.0.0.0 YaBrowser/25.10.0.0 Safari/537.36",
    "Yandex with its other names": f"{WINDOWS} Chrome/138.0.0.0 YaBrowser/25.8.0.0 Yowser/2.5"
    " Safari/537.36",
    "Opera": f"{WINDOWS} Chrome/148.0.0.0 Safari/537.36 OPR/122.0.0.0",
    "Yandex, Android": f"{ANDROID} Chrome/138.0.0.0 YaBrowser/25.8.1.126 SA/3 Mobile Safari/537.36",
    "Samsung": f"{ANDROID} SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36",
    "Huawei": f"{ANDROID} Chrome/114.0.5735.196 HuaweiBrowser/15.0.4.312 Mobile Safari/537.36",
    "HarmonyOS": f"Mozilla/5.0 (Phone; OpenHarmony 5.0) AppleWebKit/537.36 {LAYOUT}"
    " Chrome/114.0.0.0 Safari/537.36 ArkWeb/4.1.6.1 Mobile",
    "UC": f"{ANDROID} Version/4.0 Chrome/123.0.6312.80 UCBrowser/13.8.0.1325 Mobile Safari/537.36",
    "Safari": f"{IOS} Version/18.0 Mobile/15E148 Safari/604.1",
    "Safari, Mac": f"{MAC} Version/26.1 Safari/605.1.15",
    "Chrome, iPad": f"{MAC} CriOS/140 Version/11.1.1 Safari/605.1.15",
    "Edge, iPad": f"{MAC} Version/18.0 EdgiOS/140.0.3485.94 Safari/605.1.15",
    "Firefox, iPad": f"{MAC} Version/13.1 Safari/605.1.15",
    "Chrome, iPhone": f"{IOS} CriOS/150.0.7000.50 Mobile/15E148 Safari/604.1",
    "Firefox": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Firefox, Android": "Mozilla/5.0 (Android 14; Mobile; rv:150.0) Gecko/150.0 Firefox/150.0",
    "a phone named bot": f"{ANDROID.replace('K)', 'CUBOT P80)')} Chrome/120.0.0.0 Safari/537.36",
    "a phone with brackets": f"{ANDROID.replace('K)', 'moto g(7))')} Chrome/120.0 Safari/537.36",
    "inside Telegram": f"{VIEW} {CHROME} Telegram-Android/12.3.1 (X; Android 15; SDK 35; HIGH)",
    "inside WhatsApp": f"{VIEW} {CHROME} WhatsApp/2.24.12.78",
    "inside VK": f"{VIEW} {CHROME} VKAndroidApp/8.90-20000",
    "inside Instagram": f"{VIEW} {CHROME} Instagram 330.0 Android (34/14; Google/google; ru_RU)",
    "inside WhatsApp, iPhone": f"{IOS} Mobile/15E148 WhatsApp/2.24.15.78",
    "inside Instagram, iPhone": f"{IOS} Mobile/15E148 Instagram 330.0.0.25.84",
    "inside Facebook": f"{IOS} Mobile/15E148 [FBAN/FBIOS;FBAV/470.0.0.0]",
    "inside any app": f"{IOS} Mobile/15E148",
}
OLD_PHONES = {
    "Android 5": f"{VIEW.replace('15;', '5.1;')} Version/4.0 Chrome/44.0.0.0 Mobile Safari/537.36",
    "Android 8": f"{ANDROID} Chrome/70.0.3538.80 Mobile Safari/537.36",
    "iPhone 6": f"{IOS.replace('18_0', '12_5_7')} Version/12.1.2 Mobile/15E148 Safari/604.1",
    "iPhone 7": f"{IOS.replace('18_0', '15_8')} Mobile/15E148 Instagram 300.0",
}
MACHINES = {
    "no client we know": "SomeClient",
    "Office": "Mozilla/4.0 (compatible; ms-office; MSOffice 16)",
    "Outlook": "Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 10.0; Microsoft Outlook 16.0.5)",
    "Explorer": "Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; rv:11.0) like Gecko",
    "a mail program": "Mozilla/5.0 (X11; Linux; rv:115.0) Gecko/20100101 Thunderbird/115.6.0",
    "a messenger": "Signal-Android/7.0",
    "another messenger": "Viber/22.5.0",
    "an app's own calls": "MyApp/1 CFNetwork/1568.100.1 Darwin/24.0.0",
    "a phone's own calls": "Dalvik/2.1.0 (Linux; U; Android 15)",
    "a browser's name alone": "Mozilla/5.0",
    "a browser's name and a system": "Mozilla/5.0 (Windows NT 10.0; Win64; x64)",
    "a browser's name, not first": f"Fetcher {WINDOWS} Chrome/150.0.0.0 Safari/537.36",
    "no engine": "Mozilla/5.0 (Linux; Android 13; K) Chrome/120.0.0.0",
    "an engine without a browser": WINDOWS,
    "a browser without a window": f"{WINDOWS} HeadlessChrome/150.0.0.0 Safari/537.36",
    "a browser of the future": f"{WINDOWS} Chrome/999.0.0.0 Safari/537.36",
    "a browser of the past": f"{WINDOWS} Chrome/12.0.0.0 Safari/537.36",
    "a phone of the future": f"{IOS.replace('18_0', '99_0')} Mobile/15E148",
    "a test of speed": f"{WINDOWS} Chrome/150.0.0.0 Safari/537.36 Chrome-Lighthouse",
    "a desk that nobody updates": f"{WINDOWS} Chrome/70.0.3538.80 Safari/537.36",
    "nothing": "",
    "a machine's name behind a browser": f"{WINDOWS} Chrome/150.0.0.0 Safari/537.36 Site24x7",
    "a script's name behind a browser": f"{WINDOWS} Chrome/150.0.0.0 Safari/537.36 axios/1.7",
    "an app's name before a browser": f"{WINDOWS} Teams/2.1 Chrome/150.0.0.0 Safari/537.36",
    "a comment behind a browser": f"{WINDOWS} Chrome/150.0.0.0 Safari/537.36 (GoogleImageProxy)",
    "a scanner's Mac": f"{MAC} Version/26.1 Safari/605.1.15 Scanner/1",
    "a crawler in a browser's name": f"{VIEW} {CHROME} (compatible; xbot)",
}
PREVIEWS = {
    "WhatsApp": "WhatsApp/2.23.20.0 A",
    "anything that calls itself WhatsApp": "WhatsApp/2",
    "an iPhone's preview": f"{IOS} facebookexternalhit/1.1 Facebot Twitterbot/1.0",
}


@pytest.fixture
def https(settings: Settings) -> Iterator[None]:
    settings.SHORT_URL = "https://kvt.example"
    bot_detection._agents.clear()
    yield
    bot_detection._agents.clear()


def kind_of(agent: str, **changes: str | None) -> VisitorKind:
    """The kind of a visitor with a browser's headers; None leaves one out."""
    environ = {"REQUEST_METHOD": "GET", **BROWSER_ENVIRON, "HTTP_USER_AGENT": agent, **changes}
    return bot_detection.kind_of(
        {name: value for name, value in environ.items() if value is not None}
    )


@pytest.mark.usefixtures("https")
@pytest.mark.parametrize("agent", [*PEOPLE.values(), *OLD_PHONES.values()])
def test_browser_is_a_person(agent: str) -> None:
    assert kind_of(agent) == VisitorKind.PERSON


@pytest.mark.usefixtures("https")
@pytest.mark.parametrize("agent", [PEOPLE["Chrome, Android"], PEOPLE["Safari"]])
def test_endless_user_agent_is_a_scanner(agent: str) -> None:
    """To look for the end of its version would take the square of its length."""
    longest = agent.ljust(bot_detection.MAX_LENGTH, "1")

    assert kind_of(longest) == VisitorKind.PERSON
    assert kind_of(f"{longest}1") == VisitorKind.SCANNER


@pytest.mark.usefixtures("https")
def test_opera_mini_counts_as_person() -> None:
    assert kind_of(OPERA_MINI) == VisitorKind.SCANNER
    assert kind_of(OPERA_MINI, HTTP_X_OPERAMINI_PHONE_UA="Nokia") == VisitorKind.PERSON


@pytest.mark.usefixtures("https")
@pytest.mark.parametrize("agent", MACHINES.values(), ids=MACHINES)
def test_other_client_is_a_scanner(agent: str) -> None:
    assert kind_of(agent, HTTP_SEC_FETCH_MODE=None) == VisitorKind.SCANNER
    assert agent == MACHINES["a desk that nobody updates"] or kind_of(agent) == VisitorKind.SCANNER


@pytest.mark.parametrize("agent", PREVIEWS.values(), ids=PREVIEWS)
def test_messenger_is_a_preview(agent: str) -> None:
    assert kind_of(agent) == VisitorKind.PREVIEW


@pytest.mark.usefixtures("https")
@pytest.mark.parametrize(
    "changes",
    [
        {"HTTP_ACCEPT": None},
        {"HTTP_ACCEPT": "*/*"},
        {"HTTP_ACCEPT": "image/avif,image/webp,*/*;q=0.8"},
        {"HTTP_ACCEPT_LANGUAGE": None},
        {"HTTP_SEC_FETCH_MODE": None},
        {"HTTP_SEC_FETCH_MODE": "no-cors"},
        {"HTTP_SEC_FETCH_DEST": "image"},
        {"HTTP_SEC_FETCH_DEST": "iframe"},
        {"HTTP_RANGE": "bytes=0-65535"},
        {"HTTP_SEC_CH_UA": '"HeadlessChrome";v="150", "Not;A=Brand";v="24"'},
    ],
)
def test_browsers_name_without_its_headers_is_a_scanner(changes: dict[str, str | None]) -> None:
    assert {kind_of(agent, **changes) for agent in PEOPLE.values()} == {VisitorKind.SCANNER}


@pytest.mark.usefixtures("https")
def test_engine_older_than_the_header_of_navigations_does_without() -> None:
    without = {"HTTP_SEC_FETCH_MODE": None, "HTTP_SEC_FETCH_DEST": None}
    assert {kind_of(agent, **without) for agent in OLD_PHONES.values()} == {VisitorKind.PERSON}


def test_request_without_tls_needs_no_navigation_header() -> None:
    plain = {"HTTP_SEC_FETCH_MODE": None, "HTTP_SEC_FETCH_DEST": None}
    assert {kind_of(agent, **plain) for agent in PEOPLE.values()} == {VisitorKind.PERSON}


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
    times = {"started_at": HANDED_OVER - MOMENT, "accepted_at": accepted_at}
    AttemptFactory.create(message=message, state="delivered", **times)
    return link


def next_channel(
    link: Link, after: timedelta, *, state: str = "expired", why: str = "patience"
) -> datetime:
    """Ends the first attempt in the given state; returns when the SMS was handed over."""
    assert link.message_id is not None
    first = Attempt.objects.get(message_id=link.message_id)
    Attempt.objects.filter(pk=first.pk).update(state=state, error_class=why)
    at = HANDED_OVER + after
    times = {"started_at": at - MOMENT, "accepted_at": at}
    AttemptFactory.create(message=first.message, n=2, channel="sms", state="sent", **times)
    return at


def visit(link: Link, at: datetime) -> None:
    rows = [[link.id.hex, VisitorKind.PERSON, int(at.timestamp() * 1000), "", "", ""]]
    blocking_redis_client().xadd(STREAM, {"id": uuid4().hex, "batch": orjson.dumps(rows)})
    read_all()


def outcome_of(link: Link) -> tuple[int, int, bool, int]:
    """Returns clicks by people and by scanners, whether one proved the delivery, and events."""
    link.refresh_from_db()
    events = Event.objects.filter(kind="link.clicked").count()
    return link.clicks, link.scanners, link.clicked_at is not None, events


@pytest.mark.parametrize("mode", Mode.values)
@pytest.mark.parametrize(
    "at",
    [HANDED_OVER - MOMENT + timedelta(milliseconds=1), HANDED_OVER, HANDED_OVER + WINDOW - MOMENT],
)
def test_visitor_during_the_hand_over_is_a_scanner(
    company: Company, at: datetime, mode: Mode
) -> None:
    link = sent_link(company, accepted_at=HANDED_OVER, mode=mode)

    visit(link, at)

    assert outcome_of(link) == (0, 1, False, 0)


@pytest.mark.parametrize("mode", Mode.values)
@pytest.mark.parametrize("at", [HANDED_OVER + WINDOW + MOMENT, HANDED_OVER - 2 * MOMENT])
def test_visitor_outside_the_hand_over_is_a_person(
    company: Company, at: datetime, mode: Mode
) -> None:
    link = sent_link(company, accepted_at=HANDED_OVER, mode=mode)

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


def test_timing_rule_ignores_links_without_a_message(company: Company) -> None:
    EndpointFactory.create(company=company)
    link = LinkFactory.create(company=company)

    visit(link, timezone.now())

    assert outcome_of(link) == (1, 0, False, 1)


@pytest.mark.parametrize(
    ("accepted_at", "moment"),
    [(HANDED_OVER, -MOMENT / 2), (HANDED_OVER, MOMENT), (None, MOMENT)],
    ids=["before", "after", "attempt without an answer"],
)
def test_first_message_visitor_is_person_during_next_send(
    company: Company, accepted_at: datetime | None, moment: timedelta
) -> None:
    link = sent_link(company, accepted_at=accepted_at)
    handed_over = next_channel(link, 10 * WINDOW)

    visit(link, handed_over + moment)

    assert outcome_of(link) == (1, 0, True, 1)


@pytest.mark.parametrize(("state", "why"), [("failed", "rejected"), ("expired", "")])
def test_undelivered_first_message_keeps_early_visitor_suspect(
    company: Company, state: str, why: str
) -> None:
    link = sent_link(company, accepted_at=HANDED_OVER)
    handed_over = next_channel(link, 10 * WINDOW, state=state, why=why)

    visit(link, handed_over + MOMENT)

    assert outcome_of(link) == (0, 1, False, 0)


def test_scanner_stays_scanner_after_quick_fallback(
    company: Company,
) -> None:
    link = sent_link(company, accepted_at=HANDED_OVER)
    next_channel(link, WINDOW / 2)

    visit(link, HANDED_OVER + MOMENT)
    visit(link, HANDED_OVER + WINDOW + MOMENT)  # late enough to have read the first

    assert outcome_of(link) == (1, 1, True, 1)
