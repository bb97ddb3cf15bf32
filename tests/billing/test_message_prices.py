"""Prices of SMS by country: from when they hold, and that no send waits for a query."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.keys import api_keys
from accounts.models import Company
from billing import message_prices
from billing.models import SmsPrice
from billing.wallet import ledger
from channels.lifecycle.state_machine import Event, EventKind
from channels.models import Message
from channels.outcomes import transitions
from tests.api.clients import Api, ClientOf
from tests.channels.message_stages import submitted
from tests.factories import CompanyFactory

pytestmark = pytest.mark.django_db
IN_KAZAKHSTAN = "+77011234567"
IN_RUSSIA = "+79161234567"
NOW = timedelta(0)


@pytest.fixture
def everywhere(company: Company) -> None:
    Company.objects.filter(pk=company.pk).update(all_countries=True)


def set_price(country: str, tokens: int | None, *, since: timedelta = NOW) -> None:
    SmsPrice.objects.create(country=country, tokens=tokens, starts_at=timezone.now() + since)
    message_prices.refresh()  # as its thread does every second


@pytest.mark.parametrize(
    ("steps", "price"),
    [
        ([], 16),
        ([(22, -1)], 22),
        ([(22, 1)], 16),
        ([(22, -2), (30, -1)], 30),
        ([(30, -1), (22, -2)], 30),
        ([(22, -2), (None, -1)], 16),
        ([(22, -2), (None, 1)], 22),
    ],
)
def test_last_price_that_has_begun_holds(steps: list[tuple[int | None, int]], price: int) -> None:
    for tokens, hours in steps:
        set_price("KZ", tokens, since=timedelta(hours=hours))

    assert message_prices.price_of("sms", "KZ") == price
    assert message_prices.price_of("sms", "RU") == message_prices.price_of("sms") == 16
    assert message_prices.price_of("whatsapp", "KZ") == 1
    assert message_prices.by_country() == ({} if price == 16 else {"KZ": price})


def test_coming_price_holds_without_another_read(monkeypatch: pytest.MonkeyPatch) -> None:
    set_price("KZ", 22, since=timedelta(minutes=5))
    assert message_prices.price_of("sms", "KZ") == 16

    later = timezone.now().timestamp() + 301
    monkeypatch.setattr("billing.message_prices.time.time", lambda: later)

    assert message_prices.price_of("sms", "KZ") == 22


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("path", ["/otp/send", "/links/send"])
def test_send_holds_and_returns_the_country_s_price(api: Api, path: str) -> None:
    set_price("KZ", 22)
    available, _ = ledger.balance(api.company.pk)

    sent = api.post(path, {"phone": IN_KAZAKHSTAN, "channel": "sms", "url": "https://example.com/"})

    assert (sent.status, sent.body["cost"]) == (200, 22)
    assert ledger.balance(api.company.pk) == (available - 22, 22)
    other = api.post(path, {"phone": IN_RUSSIA, "channel": "sms", "url": "https://example.com/"})
    assert other.body["cost"] == 16


@pytest.mark.usefixtures("everywhere")
def test_insufficient_tokens_error_names_country_price(client_of: ClientOf) -> None:
    api = client_of(CompanyFactory.create(all_countries=True))
    ledger.grant(company=api.company, amount=20, reason="test")
    set_price("KZ", 22)

    refused = api.post("/otp/send", {"phone": IN_KAZAKHSTAN, "channel": "sms"})

    assert refused.code == "insufficient_tokens"
    assert (refused.body["required"], refused.body["available"]) == (22, 20)


@pytest.mark.usefixtures("everywhere")
def test_message_keeps_the_price_it_was_held_at(api: Api) -> None:
    set_price("KZ", 22, since=-timedelta(hours=1))
    attempt = submitted(api, IN_KAZAKHSTAN, channel="sms")
    set_price("KZ", 40)

    transitions.commit_events([Event(attempt.message_id, attempt.id, EventKind.DELIVERED)])

    assert Message.objects.get().price == 22
    assert ledger.balance(api.company.pk) == (1000 - 22, 0)


@pytest.mark.usefixtures("everywhere")
def test_fallback_step_has_the_country_s_price(api: Api) -> None:
    Company.objects.filter(pk=api.company.pk).update(
        falls_back=True, fallback_chain=["whatsapp", "sms"]
    )
    api_keys.clear_cache()
    set_price("KZ", 22)
    attempt = submitted(api, IN_KAZAKHSTAN)
    set_price("KZ", 40, since=timedelta(seconds=0.001))

    transitions.commit_events([Event(attempt.message_id, attempt.id, EventKind.UNREACHABLE)])

    message = Message.objects.get()
    assert (message.channel, message.price) == ("sms", 22)
    assert ledger.balance(api.company.pk)[1] == 22


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize(("most", "steps"), [(21, []), (22, ["sms"])])
def test_greatest_cost_of_a_chain_meets_the_country_s_price(
    api: Api, most: int, steps: list[str]
) -> None:
    Company.objects.filter(pk=api.company.pk).update(
        falls_back=True, fallback_chain=["whatsapp", "sms"], fallback_max_cost=most
    )
    api_keys.clear_cache()
    set_price("KZ", 22)

    api.post("/otp/send", {"phone": IN_KAZAKHSTAN})

    assert [step["channel"] for step in Message.objects.get().chain] == steps


def test_channels_show_the_price_of_a_country(api: Api) -> None:
    set_price("KZ", 22)

    def prices(**query: Any) -> dict[str, int]:
        data = api.get("/channels", query).body["data"]
        return {row["channel"]: row["price"] for row in data}

    assert prices() == {"whatsapp": 1, "telegram": 1, "sms": 16, "max": 1}
    assert prices(country="KZ") == prices(country="kz") == prices() | {"sms": 22}
    assert prices(country="RU") == prices()


@pytest.mark.parametrize("country", ["XX", "KAZ", "K", "7"])
def test_channels_of_no_country_are_refused(api: Api, country: str) -> None:
    refused = api.get("/channels", {"country": country})

    assert (refused.status, refused.code) == (422, "invalid_input")
    assert list(refused.body["errors"]) == ["country"]


def test_table_has_one_price_a_moment_and_none_out_of_range() -> None:
    at = timezone.now()
    SmsPrice.objects.create(country="KZ", tokens=5, starts_at=at)
    for wrong in ({"country": "KZ", "tokens": 6}, {"country": "DE", "tokens": 0}):
        create = partial(SmsPrice.objects.create, starts_at=at, **wrong)
        with pytest.raises(IntegrityError), transaction.atomic():
            create()
