"""The response and the cabinet's invitation when the bot may not write to a person."""

from functools import partial

import pytest
import responses
from django.conf import settings as django_settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from accounts.models import Member
from channels.deliver.dispatcher import Dispatcher
from channels.models import Contact, Message
from channels.recipients import contacts
from tests.api.clients import Api
from tests.api.races import at_once
from tests.channels.accounts import set_account
from tests.channels.message_stages import PHONE
from tests.channels.providers.vendors import payload
from tests.factories import AttemptFactory, MemberFactory, MessageFactory

LINK = {"phone": PHONE, "url": "https://example.com/", "channel": "telegram"}
URL = "https://t.me/kvitok_bot?start=contact"


def name_the_bot(settings: Settings, name: str = "kvitok_bot") -> None:
    set_account(settings, "telegram_bot", {"username": name})


@pytest.fixture(autouse=True)
def _bot(settings: Settings) -> None:
    """Configures a bot with a known name and no contact."""
    settings.BOTS_ASSUME_CONTACT = False
    name_the_bot(settings)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        (
            "ru",
            f"Получатель ещё не разрешил боту писать ему в Telegram. Попросите его открыть {URL} и "
            "поделиться номером, затем отправьте снова",
        ),
        (
            "en",
            f"The recipient has not let the bot write to them on Telegram. Have them open {URL} "
            "and share their number, then send again",
        ),
    ],
)
def test_unreachable_error_invites_the_person_to_the_bot(
    api: Api, dispatcher: Dispatcher, language: str, text: str
) -> None:
    response = api.post("/links/send", LINK, Accept_Language=language)

    assert (response.status, response.code) == (422, "recipient_unreachable")
    assert response.body["action_url"] == URL
    assert response.body["message"] == text
    assert response.body["channel"] == "telegram"


def test_person_who_blocked_the_bot_has_to_open_it_too(api: Api, dispatcher: Dispatcher) -> None:
    contacts.store_contact("telegram_bot", phone=PHONE, chat_id=7)
    bot = django_settings.PROVIDER_ACCOUNTS["telegram_bot"]
    with responses.RequestsMock() as wire:
        url = f"{bot['api_url']}/bot{bot['token']}/sendMessage"
        wire.post(url, body=payload("telegram_bot", "error_blocked_2026-09.json"), status=403)
        response = api.post("/links/send", LINK)

    assert response.body["action_url"] == URL


def test_without_the_bots_name_there_is_nothing_to_open(
    api: Api, dispatcher: Dispatcher, settings: Settings
) -> None:
    name_the_bot(settings, "")

    response = api.post("/links/send", LINK)

    assert (response.status, response.code) == (422, "recipient_unreachable")
    assert "action_url" not in response.body
    assert response.body["message"] == "Получатель недоступен в этом канале"


def unreached(owner: Member, provider: str, channel: str = "telegram") -> Message:
    message = MessageFactory.create(
        company=owner.company,
        channel=channel,
        state="failed",
        error="recipient_unreachable",
        finished_at=timezone.now(),
    )
    AttemptFactory.create(
        message=message,
        channel=channel,
        provider=provider,
        state="failed",
        error_class="unreachable",
        error_code="no_contact",
    )
    return message


@pytest.fixture
def owner(db: None, client: Client) -> Member:
    """The signed-in owner of a company."""
    member = MemberFactory.create()
    client.force_login(member.user)
    return member


def test_history_shows_the_link_and_its_code(client: Client, owner: Member) -> None:
    message = unreached(owner, "telegram_bot")

    page = client.get(reverse("message-detail", args=[message.public_id])).content.decode()

    assert f'href="{URL}"' in page
    assert "data:image/svg+xml" in page
    assert "Попросите человека открыть бота и поделиться номером" in page


@pytest.mark.django_db(transaction=True)
def test_people_who_exchange_their_numbers_at_once_both_succeed() -> None:
    contacts.store_contact("telegram_bot", phone="+79160000001", chat_id=1)
    contacts.store_contact("telegram_bot", phone="+79160000002", chat_id=2)
    for _round in range(10):
        at_once(
            [
                partial(contacts.store_contact, "telegram_bot", phone="+79160000001", chat_id=2),
                partial(contacts.store_contact, "telegram_bot", phone="+79160000002", chat_id=1),
                partial(contacts.store_contact, "telegram_bot", phone="+79160000001", chat_id=1),
                partial(contacts.store_contact, "telegram_bot", phone="+79160000002", chat_id=2),
            ]
        )

    chats = Contact.objects.values_list("chat_id", flat=True)
    assert len(chats) == len(set(chats)) > 0
