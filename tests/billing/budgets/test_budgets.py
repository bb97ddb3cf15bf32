"""Budgets: exact under races, named in the refusal, effective at once when raised."""

from collections import Counter
from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection, transaction
from django.utils import timezone

from accounts.keys import api_keys
from accounts.models import Company
from billing.budgets import budgets
from billing.budgets.sql import DAY_ENDS
from billing.models import Budget, Transfer, Wallet
from billing.wallet import ledger
from channels.lifecycle.state_machine import EventKind
from channels.models import Attempt, Message
from tests.api.clients import Api, ApiResponse, ClientOf
from tests.api.races import at_once
from tests.billing.budgets.budget_use import PHONE, URL, held_tokens, set_budget, used
from tests.billing.seals.books import by_force
from tests.channels.message_stages import apply_event, submitted
from tests.factories import CompanyFactory, LinkFactory
from tests.sql import execute

pytestmark = pytest.mark.django_db


def send(api: Api, number: int = 0, path: str = "/otp/send", **fields: Any) -> ApiResponse:
    phone = f"+7916{1_000_000 + number}"
    return api.post(path, {"phone": phone, "url": URL} | fields)


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("path", ["/otp/send", "/links/send"])
def test_daily_budget_refuses_and_is_named(api: Api, path: str) -> None:
    set_budget(api.company, day=2)
    assert [send(api, n, path).status for n in range(2)] == [200, 200]

    refused = send(api, 2, path)

    assert (refused.status, refused.code) == (429, "send_limit")
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0) + timedelta(days=1)
    limit = refused.body["limit"]
    resets_at = datetime.fromisoformat(limit.pop("resets_at"))
    assert limit == {"kind": "budget_day", "tokens": 2}
    assert abs((resets_at - midnight).total_seconds()) < 2
    wait = (resets_at - timezone.now()).total_seconds()
    assert 0 <= refused.body["retry_after"] - wait < 120
    assert refused.headers["Retry-After"] == str(refused.body["retry_after"])
    assert "бюджет компании на день: 2 токенов" in refused.body["message"]
    assert (held_tokens(api.company), Message.objects.count()) == (2, 2)


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("path", ["/otp/send", "/links/send"])
def test_hourly_budget_is_per_country(api: Api, path: str) -> None:
    Company.objects.update(all_countries=True)
    set_budget(api.company, SO=16)
    numbers = [f"+25261234560{n}" for n in range(3)]
    assert send(api, path=path, phone=numbers[0], channel="sms").status == 200

    refused = send(api, path=path, phone=numbers[1], channel="sms")

    limit = refused.body["limit"]
    assert (refused.code, limit["kind"]) == ("send_limit", "budget_country_hour")
    assert (limit["country"], limit["tokens"]) == ("SO", 16)
    resets_at = datetime.fromisoformat(limit["resets_at"])
    assert (resets_at.minute, resets_at.second) == (0, 0)
    assert 0 < refused.body["retry_after"] <= 3600
    assert send(api, path=path, phone=numbers[1]).code == "send_limit"
    assert send(api, path=path).status == 200
    assert used(api.company) == (17, {"SO": 16, "RU": 1})


@pytest.mark.parametrize(
    ("zone", "day"),
    [
        ("Europe/Moscow", date(2026, 11, 29)),
        ("America/Havana", date(2026, 10, 31)),  # 00:00 comes twice
        ("Atlantic/Azores", date(2026, 10, 24)),
        ("America/Havana", date(2026, 3, 7)),  # 00:00 never comes
        ("Asia/Beirut", date(2026, 10, 24)),  # 23:00 comes twice
        ("America/Nuuk", date(2026, 3, 28)),  # 23:00 never comes
    ],
)
def test_day_ends_where_the_next_date_begins(zone: str, day: date) -> None:
    rows = execute(
        f"SELECT {DAY_ENDS} FROM (SELECT %(day)s::date AS today) period",  # noqa: S608
        {"day": day, "time_zone": zone},
    )
    (ends,) = rows[0]

    before, at = (
        moment.astimezone(ZoneInfo(zone)).date()
        for moment in (ends - timedelta(microseconds=1), ends)
    )
    assert (before, at) == (day, day + timedelta(days=1))


def test_refused_send_frees_its_place_and_writes_nothing(api: Api) -> None:
    set_budget(api.company, day=0)
    for _ in range(8):
        assert send(api).body["limit"]["kind"] == "budget_day"

    set_budget(api.company, day=None)

    assert send(api).status == 200
    assert used(api.company) == (1, {"RU": 1})


@pytest.mark.parametrize(
    ("budget", "price", "limit"),
    [
        ({"day": 0}, 1, {"kind": "budget_day", "tokens": 0}),
        ({"day": 10}, 16, {"kind": "budget_day", "tokens": 10}),
        ({"RU": 10}, 16, {"kind": "budget_country_hour", "country": "RU", "tokens": 10}),
        (
            {"day": 16, "RU": 10},  # the day is used up as well, but it ends
            16,
            {"kind": "budget_country_hour", "country": "RU", "tokens": 10},
        ),
    ],
)
def test_budget_below_one_message_s_price_names_no_time(
    api: Api, budget: dict[str, int], price: int, limit: dict[str, Any]
) -> None:
    set_budget(api.company, **budget)
    if "day" in budget and "RU" in budget:
        Wallet.objects.update(day=timezone.localdate(), day_tokens=16)

    refused = send(api, channel="sms" if price > 1 else "whatsapp")

    assert (refused.status, refused.code) == (429, "send_limit")
    assert refused.body["limit"] == limit
    assert "retry_after" not in refused.body
    assert "Retry-After" not in refused.headers
    text = (
        f"меньше цены одного сообщения: токенов в бюджете\u00a0— {limit['tokens']}, "
        f"цена\u00a0— {price}"
    )
    assert text in refused.body["message"]


def test_insufficient_tokens_are_reported_before_a_budget(client_of: ClientOf) -> None:
    api = client_of(CompanyFactory.create())
    set_budget(api.company, day=0)

    assert send(api).code == "insufficient_tokens"


def test_test_keys_use_no_budget(test_api: Api) -> None:
    set_budget(test_api.company, day=0)

    assert send(test_api).status == 200


@pytest.mark.parametrize(
    ("own", "usual", "tokens"),
    [
        ({}, {}, (3200, 800)),
        ({}, {"": 5000, "RU": 10}, (5000, 800)),
        ({"": 7, "RU": 3}, {"": 5000, "RU": 5000}, (7, 3)),
        ({"*": 2}, {}, (3200, 2)),
        ({"*": 2}, {"RU": 900}, (3200, 900)),
        ({"*": 2000}, {"RU": 900}, (3200, 2000)),
        ({"RU": 0, "*": 9}, {}, (3200, 0)),
    ],
)
def test_set_budget_overrides_usual_one(
    company: Company, own: dict[str, int], usual: dict[str, int], tokens: tuple[int, int]
) -> None:
    for country in {*own, *usual}:
        Budget.objects.create(
            company=company,
            country=country,
            fixed_tokens=own.get(country),
            usual_tokens=usual.get(country),
        )
    budgets.publish([company.pk])
    company.refresh_from_db()

    uses = budgets.usage(company.pk, ["RU"])
    hot = budgets.params(company.budgets, "RU")

    assert (hot["day_budget"], hot["hour_budget"]) == tokens

    assert (uses[0].country, uses[0].tokens) == ("", tokens[0])
    assert {use.country: use.tokens for use in uses[1:]} == {"RU": tokens[1]}


def test_past_day_and_hour_do_not_count(api: Api) -> None:
    set_budget(api.company, day=2, RU=2)
    yesterday = timezone.localdate() - timedelta(days=1)
    hour = timezone.now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=1)
    Wallet.objects.update(day=yesterday, day_tokens=99, hour=hour, hour_tokens={"RU": 99, "KZ": 5})

    assert [send(api, n).status for n in range(3)] == [200, 200, 429]
    assert used(api.company) == (2, {"RU": 2})


def test_statement_that_waited_past_midnight_counts_in_the_new_day(api: Api) -> None:
    tomorrow = timezone.localdate() + timedelta(days=1)
    hour = timezone.now().replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    Wallet.objects.update(day=tomorrow, day_tokens=5, hour=hour, hour_tokens={"RU": 5})

    assert send(api).status == 200

    wallet = Wallet.objects.get(company=api.company)
    assert (wallet.day, wallet.day_tokens) == (tomorrow, 6)
    assert (wallet.hour, wallet.hour_tokens) == (hour, {"RU": 6})


def test_released_tokens_refund_the_budgets(api: Api) -> None:
    set_budget(api.company, day=1, RU=1)
    attempt = submitted(api, PHONE)
    assert send(api).code == "send_limit"

    apply_event(attempt, EventKind.REFUSED)

    assert used(api.company) == (0, {"RU": 0})
    assert send(api).status == 200


def test_tokens_held_yesterday_refund_nothing_today(api: Api) -> None:
    set_budget(api.company, day=1)
    attempt = submitted(api, PHONE)
    by_force("UPDATE billing_transfer SET created_at = created_at - interval '1 day'", [])

    apply_event(attempt, EventKind.REFUSED)

    assert used(api.company) == (1, {"RU": 1})


def test_captured_tokens_stay_counted(api: Api) -> None:
    attempt = submitted(api, PHONE)

    apply_event(attempt, EventKind.DELIVERED)

    assert used(api.company) == (1, {"RU": 1})
    assert Transfer.objects.filter(kind="capture").count() == 1


def release(attempt: Attempt, company: Company) -> ledger.Settlement:
    kind = ledger.TransferKind.RELEASE
    return ledger.Settlement(company.pk, attempt.message_id, 1, 1, kind, reason="x", country="RU")


def test_second_release_refunds_nothing(api: Api) -> None:
    """A first release in the same statement moves the wallet; a second one moves nothing."""
    submitted(api, PHONE)
    refused = submitted(api, "+79161234568")
    other = submitted(api, "+79161234569")
    apply_event(refused, EventKind.REFUSED)

    with transaction.atomic(), connection.cursor() as cursor:
        ledger.settle(cursor, [release(refused, api.company), release(other, api.company)])

    assert used(api.company) == (1, {"RU": 1})


def test_refusal_names_the_budget_that_refused(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process may know the one before for two seconds more."""
    monkeypatch.setattr(api_keys, "CACHE_SECONDS", 60.0)
    set_budget(api.company, day=1)
    assert send(api).status == 200

    budgets.set_fixed(company=api.company, tokens={"": 9}, user=None)

    assert send(api, 1).body["limit"]["tokens"] == 1


def test_change_is_audited(company: Company) -> None:
    set_budget(company, day=9, SO=4)
    assert budgets.set_fixed(company=company, tokens={"": 9}, user=None) == []

    (event,) = company.audit.all()
    assert (event.action, event.subject) == ("budget.changed", "day: auto → 9, SO: auto → 4")


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("store")
class TestRaces:
    @pytest.mark.parametrize("budget", [{"day": 5}, {"RU": 5}])
    @pytest.mark.parametrize("path", ["/otp/send", "/links/send"])
    def test_parallel_sends_never_exceed_the_budget(
        self, api: Api, path: str, budget: dict[str, int]
    ) -> None:
        set_budget(api.company, **budget)

        responses = at_once([partial(send, api, n, path) for n in range(20)])

        assert Counter(response.status for response in responses) == {200: 5, 429: 15}
        assert {response.code for response in responses if response.status == 429} == {"send_limit"}
        assert (held_tokens(api.company), Message.objects.count()) == (5, 5)
        assert used(api.company) == (5, {"RU": 5})

    def test_two_hundred_sends_at_once_take_the_twenty_that_are_left(self, api: Api) -> None:
        set_budget(api.company, day=20)

        responses = at_once([partial(send, api, n) for n in range(200)])

        assert Counter(response.status for response in responses) == {200: 20, 429: 180}
        assert (held_tokens(api.company), Message.objects.count()) == (20, 20)
        assert used(api.company) == (20, {"RU": 20})

    def test_sends_and_releases_at_once_leave_the_books_right(self, api: Api) -> None:
        set_budget(api.company, day=30)
        attempts = [submitted(api, f"+7916200000{n}") for n in range(8)]

        calls: list[Callable[[], object]] = [
            *(partial(send, api, n) for n in range(8)),
            *(partial(apply_event, attempt, EventKind.REFUSED) for attempt in attempts),
        ]
        at_once(calls)

        assert held_tokens(api.company) == 8
        assert used(api.company) == (8, {"RU": 8})


def test_send_that_is_undone_leaves_the_budgets_as_they_were(api: Api) -> None:
    """The counts are of the transaction that pays: whatever ends it takes them back."""
    send(api)
    LinkFactory.create(slug="sale", key="sale", is_alias=True)

    refused = send(api, 1, "/links/send", alias="sale")

    assert (refused.code, used(api.company)) == ("alias_taken", (1, {"RU": 1}))
