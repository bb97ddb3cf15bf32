"""Limits per key and day: exact under races, named in the refusal, given back by releases."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.conf import settings as conf
from django.db import connection, transaction
from django.utils import timezone

from accounts import key_issuing
from accounts.keys import api_keys, key_format
from accounts.models import ApiKey, Company
from billing.budgets import key_limits
from billing.models import Wallet
from billing.wallet import ledger
from channels.lifecycle.state_machine import Event, EventKind
from channels.models import FallbackEvent, Message
from channels.outcomes import transitions
from tests.api.clients import Api, ApiResponse, ClientOf
from tests.api.races import at_once
from tests.billing.budgets.budget_use import PHONE, URL, held_tokens
from tests.billing.budgets.test_budget_steps import fall_back, move, step
from tests.channels.message_stages import apply_event, submitted
from tests.factories import CompanyFactory, MemberFactory, MessageFactory

pytestmark = pytest.mark.django_db


def limit(key: ApiKey, tokens: int | None) -> None:
    key_limits.set_limits(company=key.company, tokens={key.pk: tokens}, user=None)
    api_keys.clear_cache()  # as two seconds would


def key_of(api: Api) -> ApiKey:
    plaintext = api.headers["Authorization"].removeprefix("Bearer ")
    return ApiKey.objects.get(digest=key_format.digest(plaintext))


def used(key: ApiKey) -> int:
    return int(Wallet.objects.get(company=key.company).key_tokens.get(str(key.pk), 0))


def send(api: Api, number: int = 0, path: str = "/otp/send", **fields: Any) -> ApiResponse:
    return api.post(path, {"phone": f"+7916{1_000_000 + number}", "url": URL} | fields)


@pytest.mark.parametrize("path", ["/otp/send", "/links/send"])
def test_key_limit_refusal_names_limit_end_and_contact(api: Api, path: str) -> None:
    key = key_of(api)
    limit(key, 2)
    assert [send(api, n, path).status for n in range(2)] == [200, 200]

    refused = send(api, 2, path)

    assert (refused.status, refused.code) == (429, "send_limit")
    shown = refused.body["limit"]
    assert (shown["kind"], shown["key"], shown["tokens"]) == ("key_day", str(key), 2)
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0) + timedelta(days=1)
    assert 0 <= refused.body["retry_after"] - (midnight - timezone.now()).total_seconds() < 120
    for part in (key.name, str(key), "2 токенов", f"00:00 ({conf.TIME_ZONE})", "владелец"):
        assert part in refused.body["message"]
    assert (held_tokens(api.company), Message.objects.count(), used(key)) == (2, 2, 2)


def test_limit_below_a_price_names_no_time(api: Api) -> None:
    limit(key_of(api), 10)

    refused = send(api, channel="sms")

    assert refused.body["limit"] == {"kind": "key_day", "key": str(key_of(api)), "tokens": 10}
    assert "retry_after" not in refused.body
    assert "токенов в день\u00a0— 10, цена\u00a0— 16" in refused.body["message"]
    assert send(api).status == 200


def test_keys_of_a_company_are_limited_apart(api: Api, client_of: ClientOf) -> None:
    other = client_of(api.company)
    limit(key_of(api), 1)

    assert [send(api, 0).status, send(api, 1).status] == [200, 429]
    assert [send(other, 2).status, send(other, 3).status] == [200, 200]
    assert (used(key_of(api)), used(key_of(other))) == (1, 2)


def test_limit_set_later_knows_what_the_key_has_spent(api: Api) -> None:
    assert [send(api, n).status for n in range(3)] == [200] * 3

    limit(key_of(api), 3)

    assert send(api, 3).body["limit"]["kind"] == "key_day"
    limit(key_of(api), None)
    assert send(api, 3).status == 200


def test_successor_of_a_key_has_its_limit(api: Api) -> None:
    limit(key_of(api), 7)

    successor, _ = key_issuing.rotate_api_key(
        key=key_of(api), user=MemberFactory.create(company=api.company).user
    )

    assert successor.day_limit == 7


def test_yesterday_does_not_count(api: Api) -> None:
    key = key_of(api)
    limit(key, 1)
    yesterday = timezone.localdate() - timedelta(days=1)
    Wallet.objects.update(day=yesterday, key_tokens={str(key.pk): 99})

    assert [send(api, n).status for n in range(2)] == [200, 429]
    assert used(key) == 1


def test_released_tokens_give_the_room_back(api: Api) -> None:
    key = key_of(api)
    limit(key, 1)
    attempt = submitted(api, PHONE)
    assert send(api).code == "send_limit"

    apply_event(attempt, EventKind.REFUSED)

    assert used(key) == 0
    assert send(api).status == 200


def test_captured_tokens_stay_counted(api: Api) -> None:
    attempt = submitted(api, PHONE)

    apply_event(attempt, EventKind.DELIVERED)

    assert used(key_of(api)) == 1


def test_release_refunds_the_key_and_the_country_that_held_it(
    api: Api, client_of: ClientOf
) -> None:
    """One statement releases for two keys and two countries."""
    Company.objects.update(all_countries=True)
    api_keys.clear_cache()
    other = client_of(api.company)
    attempts = [
        submitted(api, PHONE),
        submitted(api, "+77011234567"),
        submitted(other, "+79161234568"),
        submitted(other, "+79161234569"),
    ]

    transitions.commit_events(
        [
            Event(attempt.message_id, attempt.id, EventKind.REFUSED, code="test")
            for attempt in attempts[:3]
        ]
    )

    assert (used(key_of(api)), used(key_of(other))) == (0, 1)
    wallet = Wallet.objects.get(company=api.company)
    assert (wallet.day_tokens, wallet.hour_tokens) == (1, {"RU": 1, "KZ": 0})


@pytest.mark.usefixtures("chain")
class TestFallback:
    def test_dearer_step_counts_the_difference(self, api: Api) -> None:
        limit(key_of(api), 16)

        assert fall_back(api).channel == "sms"
        assert used(key_of(api)) == 16

    def test_fallback_over_the_limit_is_refused(self, api: Api) -> None:
        limit(key_of(api), 15)

        message = fall_back(api)

        assert (message.state, message.channel, held_tokens(api.company)) == (
            "failed",
            "whatsapp",
            0,
        )
        assert FallbackEvent.objects.get().reason == "budget"
        assert used(key_of(api)) == 0

    def test_cheaper_step_refunds_the_key(self, api: Api) -> None:
        message = fall_back(api)
        key = key_of(api)

        step(
            move(
                message.company_id, message.pk, hold=2, old_price=16, new_price=1, api_key_id=key.pk
            )
        )

        assert used(key) == 1

    def test_group_of_steps_takes_as_many_as_fit(self, api: Api) -> None:
        key = key_of(api)
        limit(key, 40)
        rows = [MessageFactory.create(company=api.company) for _ in range(5)]

        moved = step(*(move(api.company.pk, row.pk, api_key_id=key.pk) for row in rows))

        assert Counter(moved) == {
            ledger.HoldMoveResult.PAID: 2,
            ledger.HoldMoveResult.OVER_BUDGET: 3,
        }
        assert used(key) == 32


def test_test_keys_are_not_limited(test_api: Api) -> None:
    changed = key_limits.set_limits(
        company=test_api.company, tokens={key_of(test_api).pk: 0}, user=None
    )

    assert changed == []
    assert send(test_api).status == 200


def test_key_of_another_company_is_left_alone(api: Api) -> None:
    stranger = CompanyFactory.create()

    key_limits.set_limits(company=stranger, tokens={key_of(api).pk: 0}, user=None)

    assert key_of(api).day_limit is None
    assert list(stranger.audit.all()) == []


def test_change_is_audited_once(api: Api) -> None:
    key = key_of(api)
    limit(key, 20)
    limit(key, 20)

    (event,) = api.company.audit.filter(action="key.limited")
    assert event.subject == f"{key.name} {key}: — → 20"


@pytest.mark.django_db(transaction=True)
class TestRaces:
    @pytest.mark.usefixtures("queued_at_once")
    @pytest.mark.parametrize("path", ["/otp/send", "/links/send"])
    def test_parallel_sends_never_exceed_the_limit(self, api: Api, path: str) -> None:
        key = key_of(api)
        limit(key, 20)

        responses = at_once([partial(send, api, n, path) for n in range(200)])

        assert Counter(response.status for response in responses) == {200: 20, 429: 180}
        refused = [response for response in responses if response.status == 429]
        assert {response.body["limit"]["kind"] for response in refused} == {"key_day"}
        assert (held_tokens(api.company), Message.objects.count(), used(key)) == (20, 20, 20)

    def test_sends_and_releases_at_once_leave_the_count_right(self, api: Api) -> None:
        key = key_of(api)
        limit(key, 30)
        attempts = [submitted(api, f"+7916200000{n}") for n in range(8)]

        calls: list[Callable[[], object]] = [
            *(partial(send, api, n) for n in range(8)),
            *(partial(apply_event, attempt, EventKind.REFUSED) for attempt in attempts),
        ]
        at_once(calls)

        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT sum(price) FROM channels_message WHERE state <> 'failed'")
            (expected,) = cursor.fetchone()
        assert used(key) == held_tokens(api.company) == expected == 8
