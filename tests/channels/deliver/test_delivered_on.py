"""TELEGRAM_BOT_DELIVERED_ON decides when a bot message is charged."""

from datetime import timedelta

import pytest
import responses
from django.conf import settings as configured
from django.db.models import F
from pytest_django import Settings

from billing.models import Transfer
from billing.wallet import ledger
from channels.deliver import sweeps
from channels.models import Message
from channels.outcomes import transitions
from channels.recipients import contacts
from otp.check import settlement
from tests.api.clients import Api
from tests.channels.accounts import set_account
from tests.channels.message_stages import PHONE, claim, hand_over
from tests.channels.providers.vendors import payload
from tests.otp.sent_codes import code_of

pytestmark = pytest.mark.django_db
LINK = "https://example.com/"


def choose(settings: Settings, delivered_on: str) -> None:
    set_account(settings, "telegram_bot", {"delivered_on": delivered_on})
    contacts.store_contact("telegram_bot", phone=PHONE, chat_id=7770000001)


def by_bot(api: Api, path: str, **body: object) -> Message:
    """A message that Telegram's bot has accepted."""
    api.post(path, {"phone": PHONE, "channel": "telegram"} | body)
    (claimed,) = claim()
    bot = configured.PROVIDER_ACCOUNTS["telegram_bot"]
    with responses.RequestsMock() as wire:
        wire.post(
            f"{bot['api_url']}/bot{bot['token']}/sendMessage",
            body=payload("telegram_bot", "accepted_2026-09.json"),
        )
        transitions.commit_events([hand_over(claimed)])
    return Message.objects.get()


def proofs() -> list[str]:
    return list(Transfer.objects.filter(kind="capture").values_list("proof", flat=True))


@pytest.mark.parametrize(
    ("delivered_on", "state", "proved", "held"),
    [
        ("accept", "delivered", ["handed_over"], 0),
        ("click", "sent", [], 1),
        ("never", "sent", [], 1),
    ],
)
def test_acceptance_proves_delivery_only_if_enabled(
    *, api: Api, settings: Settings, delivered_on: str, state: str, proved: list[str], held: int
) -> None:
    choose(settings, delivered_on)

    message = by_bot(api, "/links/send", url=LINK)

    assert (message.state, proofs()) == (state, proved)
    assert ledger.balance(api.company.pk) == (999, held)


@pytest.mark.parametrize("delivered_on", ["click", "never"])
def test_hold_is_released_at_the_deadline(api: Api, settings: Settings, delivered_on: str) -> None:
    choose(settings, delivered_on)
    by_bot(api, "/links/send", url=LINK)
    Message.objects.update(deadline=F("created_at") - timedelta(seconds=1))

    sweeps.sweep()

    assert (Message.objects.get().state, proofs()) == ("expired", [])
    assert ledger.balance(api.company.pk) == (1000, 0)


@pytest.mark.parametrize("delivered_on", ["click", "never"])
def test_entered_code_proves_delivery(api: Api, settings: Settings, delivered_on: str) -> None:
    choose(settings, delivered_on)
    by_bot(api, "/otp/send", link=LINK)

    api.post("/otp/verify", {"phone": PHONE, "code": code_of(PHONE)})
    settlement.settle_verified()

    assert (Message.objects.get().state, proofs()) == ("delivered", ["code_entered"])
    assert ledger.balance(api.company.pk) == (999, 0)
