"""Updates from people to the bot, and their effect on messages."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import permutations

import orjson
import pytest
import requests
import responses
from celery import current_app
from django.conf import settings
from django.core.cache import cache
from django.db.models import F
from django.db.models.functions import Now
from pytest_django import DjangoCaptureOnCommitCallbacks
from pytest_django import Settings as SettingsFixture

from accounts.models import CacheEntry
from channels.deliver import claims
from channels.deliver.dispatcher import Dispatcher
from channels.lifecycle.state_machine import Event, EventKind
from channels.models import BlockedPhone, Contact
from channels.outcomes import transitions
from channels.recipients import contacts
from tests.api.clients import Api
from tests.channels.message_stages import PHONE, claim, claimed, hand_over
from tests.channels.providers.vendors import body_of, call_webhook, payload

pytestmark = pytest.mark.django_db
CHAT = 7770000001
SHARED = "+998901234567"


def post_webhook(body: bytes) -> int:
    return call_webhook("telegram_bot", body)


def update(name: str) -> bytes:
    return payload("telegram_bot", name)


def update_at(name: str, at: int) -> bytes:
    """The same, done at this second."""
    changed = orjson.loads(update(name))
    (changed.get("message") or changed["my_chat_member"])["date"] = at
    return orjson.dumps(changed)


def stored_contacts() -> list[tuple[str, int, bool]]:
    """Returns every contact: phone, chat, and whether it may be written to."""
    return [
        (contact.phone, contact.chat_id, contact.blocked_at is None)
        for contact in Contact.objects.all()
    ]


@pytest.fixture
def replies() -> Iterator[list[tuple[int, str, bool]]]:
    """Collects replies requested at once of Telegram: (chat, text, whether for the contact)."""
    heard: list[tuple[int, str, bool]] = []

    def hear(request: requests.PreparedRequest) -> tuple[int, dict[str, str], bytes]:
        body = orjson.loads(body_of(request))
        heard.append((body["chat_id"], body["text"], "keyboard" in body["reply_markup"]))
        return 200, {}, payload("telegram_bot", "accepted_2026-09.json")

    with responses.RequestsMock(assert_all_requests_are_fired=False) as wire:
        wire.add_callback("POST", bot_url(), callback=hear)
        current_app.conf.task_always_eager = True
        yield heard
        current_app.conf.task_always_eager = False


def bot_url() -> str:
    account = settings.PROVIDER_ACCOUNTS["telegram_bot"]
    return f"{account['api_url']}/bot{account['token']}/sendMessage"


@pytest.mark.parametrize(
    ("updates", "may_be_written_to"),
    [
        (["contact_own_2026-09.json"], True),
        (["contact_own_2026-09.json", "blocked_2026-09.json"], False),
        (["contact_own_2026-09.json", "blocked_2026-09.json", "unblocked_2026-09.json"], True),
        (["contact_own_2026-09.json", "stopped_2026-11.json"], False),
        (["contact_own_2026-09.json", "stopped_2026-11.json", "stopped_2026-11.json"], False),
        (["contact_own_2026-09.json", "stopped_2026-11.json", "started_2026-09.json"], True),
        (["contact_own_2026-09.json", "stopped_2026-11.json", "contact_own_2026-09.json"], True),
    ],
)
def test_updates_allow_or_block_the_bot(updates: list[str], may_be_written_to: bool) -> None:
    calls = [update_at(name, 1_700_000_000 + number) for number, name in enumerate(updates)]

    assert {post_webhook(call) for call in calls} == {200}

    assert stored_contacts() == [(SHARED, CHAT, may_be_written_to)]


CONTACT = "contact_own_2026-09.json"
STOP = "stopped_2026-11.json"
BLOCK = "blocked_2026-09.json"


@pytest.mark.parametrize("done", [[CONTACT, STOP], [CONTACT, BLOCK], [CONTACT, STOP, CONTACT]])
def test_latest_choice_counts_in_any_order(done: list[str]) -> None:
    """A call that failed is repeated for a day, alongside newer ones."""
    calls = [update_at(name, 1_700_000_000 + number) for number, name in enumerate(done)]
    may_write = {}
    for order in permutations(range(len(calls))):
        Contact.objects.all().delete()
        cache.clear()
        for number in [*order, order[0]]:  # one of them twice
            post_webhook(calls[number])
        may_write[order] = any(allowed for _phone, _chat, allowed in stored_contacts())

    assert may_write == dict.fromkeys(may_write, done[-1] is CONTACT)


@pytest.mark.parametrize(
    ("text", "may_be_written_to"),
    [
        ("/stop", False),
        ("/stop\nspam", False),
        ("/STOP@kvitok_bot", False),
        ("/stop!", False),
        ("Стоп", False),
        ("хватит!", False),
        ("opt-out", False),
        ("ＳＴＯＰ", False),
        ("стоп-кран сломан", True),
    ],
)
def test_person_stops_the_bot_in_words_and_starts_it_again(
    text: str, may_be_written_to: bool
) -> None:
    post_webhook(update("contact_own_2026-09.json"))
    said = orjson.loads(update("stopped_2026-11.json"))
    said["message"]["text"] = text

    post_webhook(orjson.dumps(said))
    stopped = stored_contacts()
    said["message"]["text"] = "Старт"
    post_webhook(orjson.dumps(said))

    assert stopped == [(SHARED, CHAT, may_be_written_to)]
    assert stored_contacts() == [(SHARED, CHAT, True)]


def test_cache_keys_hold_no_chat() -> None:
    """They outlive an erasure."""
    post_webhook(update("started_2026-09.json"))
    post_webhook(update("stopped_2026-11.json"))

    keys = list(CacheEntry.objects.values_list("key", flat=True))
    assert {key.split(":")[2] for key in keys} >= {"bot-answer", "bot-request", "bot-stop"}
    assert [key for key in keys if str(CHAT) in key] == []


def test_shared_contact_is_the_number_that_is_sent_to() -> None:
    shared = orjson.loads(update("contact_own_2026-09.json"))
    shared["message"]["contact"]["phone_number"] = "5215512345678"

    post_webhook(orjson.dumps(shared))

    assert stored_contacts() == [("+525512345678", CHAT, True)]


@pytest.mark.parametrize(
    "name", ["started_2026-09.json", "started_by_link_2026-11.json", "stopped_2026-11.json"]
)
def test_stranger_leaves_no_contact(name: str) -> None:
    assert post_webhook(update(name)) == 200
    assert stored_contacts() == []


@pytest.mark.parametrize(
    ("updates", "expected_replies"),
    [
        (["started_2026-09.json"], [("Share your phone", True)]),
        (["started_by_link_2026-11.json"], [("Поделитесь номером", True)]),
        (["contact_own_2026-09.json"], [("Готово", False)]),
        (
            ["contact_own_2026-09.json", "started_2026-09.json"],
            [("Готово", False)],  # once: the same words again would slow the bot down
        ),
        (["stopped_2026-11.json"], [("Больше ничего", False)]),
        (["blocked_2026-09.json", "chat_2026-09.json", "contact_of_another_2026-09.json"], []),
    ],
)
def test_bot_answers_updates_with_the_text_and_button_due(
    replies: list[tuple[int, str, bool]],
    updates: list[str],
    expected_replies: list[tuple[str, bool]],
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        for name in updates:
            post_webhook(update(name))

    assert [(chat, with_button) for chat, _text, with_button in replies] == [
        (CHAT, with_button) for _text, with_button in expected_replies
    ]
    for (_chat, text, _button), (expected, _with_button) in zip(
        replies, expected_replies, strict=True
    ):
        assert text.startswith(expected)


def shared() -> None:
    """A day ago."""
    contacts.store_contact("telegram_bot", phone=PHONE, chat_id=CHAT)
    Contact.objects.update(shared_at=F("shared_at") - timedelta(days=1))


def link_by_bot(api: Api) -> claims.ClaimedMessage:
    api.post("/links/send", {"phone": PHONE, "url": "https://example.com/", "channel": "telegram"})
    (claimed,) = claim()
    return claimed


@pytest.mark.parametrize(
    ("file", "status", "may_be_written_to"),
    [
        ("error_blocked_2026-09.json", 403, False),
        ("error_chat_not_found_2026-09.json", 400, False),
        ("error_button_2026-09.json", 400, True),
        ("error_too_many_requests_2026-09.json", 429, True),
        ("accepted_2026-09.json", 200, True),
    ],
)
def test_contact_that_telegram_refused_is_blocked(
    api: Api, file: str, status: int, may_be_written_to: bool
) -> None:
    shared()
    loop = Dispatcher()
    with responses.RequestsMock() as wire:
        wire.post(bot_url(), body=payload("telegram_bot", file), status=status)
        loop.pending_events = [hand_over(link_by_bot(api))]

    loop.record()

    assert stored_contacts() == [(PHONE, CHAT, may_be_written_to)]


def test_contact_shared_again_overrides_older_refusal(api: Api) -> None:
    shared()
    claimed = link_by_bot(api)
    refused = Event(claimed.message_id, claimed.attempt_id, EventKind.UNREACHABLE, code="403")
    transitions.commit_events([refused])
    Contact.objects.update(shared_at=Now() + timedelta(seconds=1))

    contacts.mark_refused([refused])

    assert stored_contacts() == [(PHONE, CHAT, True)]


def test_other_channels_refusals_do_not_touch_the_contact(api: Api) -> None:
    shared()
    api.post("/otp/send", {"phone": PHONE, "channel": "whatsapp"})
    (claimed,) = claim()

    contacts.mark_refused(
        [Event(claimed.message_id, claimed.attempt_id, EventKind.UNREACHABLE, code="403")]
    )

    assert stored_contacts() == [(PHONE, CHAT, True)]


@pytest.mark.parametrize("assumed", [True, False])
def test_stopped_contact_gets_nothing(api: Api, settings: SettingsFixture, assumed: bool) -> None:
    settings.BOTS_ASSUME_CONTACT = assumed
    shared()
    contacts.stop("telegram_bot", CHAT)

    event = hand_over(link_by_bot(api))

    assert (event.kind, event.code) == (EventKind.UNREACHABLE, "no_contact")


def test_stop_by_sms_keeps_the_telegram_contact(api: Api) -> None:
    account = settings.PROVIDER_ACCOUNTS["twilio"]
    url = f"{account['api_url']}/2010-04-01/Accounts/{account['account_sid']}/Messages.json"
    message = claimed(api, channel="sms")
    with responses.RequestsMock() as wire:
        wire.post(url, json={"code": 21610, "message": "STOP", "status": 400}, status=400)
        event = hand_over(message)

    assert (event.kind, event.code) == (EventKind.UNREACHABLE, "21610")
    assert not BlockedPhone.objects.exists()  # no START would ever arrive here


def test_bot_stop_affects_only_the_bot(api: Api) -> None:
    shared()
    contacts.stop("telegram_bot", CHAT)

    response = api.post("/otp/send", {"phone": PHONE, "channel": "sms"})

    assert response.status == 200


@pytest.mark.parametrize("chat_id", [2**52, 2**63, 2**64 - 1, 0, -1, True, 1.5, "7", None])
def test_chat_id_that_telegram_never_sends_is_ignored(
    replies: list[tuple[int, str, bool]], chat_id: object
) -> None:
    call = orjson.loads(update("contact_own_2026-09.json"))
    call["message"]["chat"]["id"] = chat_id

    assert post_webhook(orjson.dumps(call)) == 200
    assert (stored_contacts(), replies) == ([], [])
