"""Updates from MAX: contacts, permission to write, and one store for two bots."""

from collections.abc import Iterator

import orjson
import pytest
import requests
import responses
from celery import current_app
from django.conf import settings
from django.core.cache import cache
from pytest_django import DjangoCaptureOnCommitCallbacks
from pytest_django import Settings as SettingsFixture

from channels import bot_updates
from channels.deliver import claims
from channels.deliver.dispatcher import Dispatcher
from channels.lifecycle.state_machine import EventKind
from channels.models import Contact
from channels.recipients import contacts
from tests.api.clients import Api
from tests.channels.accounts import set_account
from tests.channels.message_stages import PHONE, claimed, hand_over
from tests.channels.providers.vendors import MAX_TOKEN, body_of, call_webhook, payload

pytestmark = pytest.mark.django_db
USER = 7770000001
SHARED = "+998901234567"


@pytest.fixture(autouse=True)
def _bot(settings: SettingsFixture) -> None:
    """Configures the bot whose token signs the stored contacts."""
    settings.BOTS_ASSUME_CONTACT = False
    set_account(settings, "max_bot", {"token": MAX_TOKEN, "username": "kvitok_bot"})


def post_webhook(*names: str, secret: str = "") -> list[int]:
    bodies = [payload("max_bot", f"{name}_2026-11.json") for name in names]
    return [call_webhook("max_bot", body, secret) for body in bodies]


def stored_contacts() -> list[tuple[str, str, int, bool]]:
    """Returns every contact: bot, phone, chat, and whether it may be written to."""
    rows = Contact.objects.order_by("provider")
    return [(row.provider, row.phone, row.chat_id, row.blocked_at is None) for row in rows]


@pytest.fixture
def replies() -> Iterator[list[tuple[str, str]]]:
    """The replies that MAX was asked to send at once: the beginning of the text, and its button."""
    heard: list[tuple[str, str]] = []

    def hear(request: requests.PreparedRequest) -> tuple[int, dict[str, str], bytes]:
        body = orjson.loads(body_of(request))
        keyboard = body.get("attachments", [{}])[0].get("payload", {"buttons": [[{"type": ""}]]})
        heard.append((body["text"].partition(" ")[0], keyboard["buttons"][0][0]["type"]))
        return 200, {}, payload("max_bot", "accepted_2026-11.json")

    with responses.RequestsMock(assert_all_requests_are_fired=False) as wire:
        wire.add_callback("POST", messages_url(), callback=hear)
        current_app.conf.task_always_eager = True
        yield heard
        current_app.conf.task_always_eager = False


def messages_url() -> str:
    return f"{settings.PROVIDER_ACCOUNTS['max_bot']['api_url']}/messages"


@pytest.mark.parametrize(
    ("updates", "may_be_written_to"),
    [
        (["started_by_link", "contact_own"], True),
        (["started", "contact_own"], True),
        (["started_by_command", "contact_own", "contact_own"], True),
        (["started", "contact_own", "bot_stopped", "dialog_removed"], False),
        (["started", "contact_own", "dialog_removed"], False),
        (["started", "contact_own", "bot_stopped", "started"], True),
        (["started", "contact_own", "stopped"], False),
        (["started", "contact_own", "stopped_in_words", "started_by_command"], True),
        (["started", "contact_own", "dialog_muted"], True),
    ],
)
def test_updates_allow_or_end_the_chat(updates: list[str], may_be_written_to: bool) -> None:
    assert set(post_webhook(*updates)) == {200}

    assert stored_contacts() == [("max_bot", SHARED, USER, may_be_written_to)]


def test_unrequested_contact_is_requested_first(
    replies: list[tuple[str, str]],
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        post_webhook("contact_own")
    before = stored_contacts()
    with django_capture_on_commit_callbacks(execute=True):
        post_webhook("contact_own")

    assert before == []
    assert stored_contacts() == [("max_bot", SHARED, USER, True)]
    assert replies == [("Поделитесь", "request_contact"), ("Готово:", "")]


def test_request_of_another_person_or_bot_stays_open(settings: SettingsFixture) -> None:
    cache.set(bot_updates._request_key("max_bot", USER + 1), 1)
    cache.set(bot_updates._request_key("telegram_bot", USER), 1)

    post_webhook("contact_own")

    assert stored_contacts() == []


@pytest.mark.parametrize(
    "name",
    [
        *("contact_forwarded", "contact_with_another", "contact_of_another", "contact_in_group"),
        *("contact_of_a_bot", "contact_unsigned", "contact_two_numbers"),
    ],
)
def test_card_that_proves_nothing_leaves_no_contact(name: str) -> None:
    assert post_webhook("started", name) == [200, 200]
    assert stored_contacts() == []


@pytest.mark.parametrize("secret", ["x", "max", "ы"])
def test_call_with_another_secret_is_refused(secret: str) -> None:
    assert post_webhook("started", secret=secret) == [403]


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"null", b"{", b'{"update_type":"bot_added"}', b'{"update_type":[]}']
)
def test_anything_signed_is_answered_with_exactly_200(body: bytes) -> None:
    assert (call_webhook("max_bot", body), stored_contacts()) == (200, [])


def code_by_max(api: Api) -> claims.ClaimedMessage:
    return claimed(api, channel="max")


def test_contact_of_one_bot_is_not_another_bots(api: Api) -> None:
    contacts.store_contact("telegram_bot", phone=PHONE, chat_id=7)

    event = hand_over(code_by_max(api))

    assert (event.kind, event.code) == (EventKind.UNREACHABLE, "no_contact")


def test_each_bot_ends_only_its_own_chat() -> None:
    contacts.store_contact("telegram_bot", phone=SHARED, chat_id=USER)
    post_webhook("started", "contact_own", "dialog_removed")

    assert stored_contacts() == [
        ("max_bot", SHARED, USER, False),
        ("telegram_bot", SHARED, USER, True),
    ]


@pytest.mark.parametrize(
    ("name", "status", "may_be_written_to"),
    [
        ("error_denied", 403, False),
        ("error_no_dialog", 404, False),
        ("error_no_chat", 404, False),
        ("error_payload", 400, True),
        ("error_token", 401, True),
        ("accepted", 200, True),
    ],
)
def test_chat_that_max_refused_has_ended(
    api: Api, name: str, status: int, may_be_written_to: bool
) -> None:
    contacts.store_contact("max_bot", phone=PHONE, chat_id=USER)
    contacts.store_contact("telegram_bot", phone=PHONE, chat_id=USER)
    Contact.objects.update(shared_at="2026-01-01T00:00:00Z")
    loop = Dispatcher()
    with responses.RequestsMock() as wire:
        wire.post(messages_url(), body=payload("max_bot", f"{name}_2026-11.json"), status=status)
        loop.pending_events = [hand_over(code_by_max(api))]

    loop.record()

    assert stored_contacts() == [
        ("max_bot", PHONE, USER, may_be_written_to),
        ("telegram_bot", PHONE, USER, True),
    ]


def test_refusal_invites_the_person_to_the_bot_in_max(api: Api, dispatcher: Dispatcher) -> None:
    response = api.post("/otp/send", {"phone": PHONE, "channel": "max"})

    url = "https://max.ru/kvitok_bot?start=contact"
    assert (response.status, response.code) == (422, "recipient_unreachable")
    assert response.body["action_url"] == url
    assert response.body["message"] == (
        f"Получатель ещё не разрешил боту писать ему в MAX. Попросите его открыть {url} и "
        "поделиться номером, затем отправьте снова"
    )
