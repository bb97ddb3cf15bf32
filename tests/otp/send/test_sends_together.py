"""Sends of codes that share a statement: each has the effect that it has alone."""

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any

import orjson
import pytest
from django.db import connection, transaction
from django.utils import timezone

from accounts.keys.key_format import digest
from accounts.models import ApiKey, Company
from api import idempotency
from api.idempotency import IdempotencyKey
from billing.budgets import budgets, key_limits
from billing.models import Budget, Transfer, Wallet
from billing.wallet import ledger
from channels.models import BlockedPhone, Message
from otp.models import Verification
from otp.send import code_writes
from tests.api.blocking import end_waiting, waiting
from tests.api.clients import Api, ApiResponse, ClientOf
from tests.api.groups import in_one_group
from tests.factories import CompanyFactory
from tests.otp.sent_codes import code_of, forget_limits, verification_of
from tests.stack.programs import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def phone(number: int) -> str:
    return f"+7916{number:07d}"


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of sends in each group, and a 1 for each that ran alone."""
    sizes: list[int] = []
    together = code_writes.SENDS._together
    alone = code_writes.SENDS._alone

    def count_together(writes: Any) -> Any:
        sizes.append(len(writes))
        return together(writes)

    def count_alone(write: Any) -> Any:
        sizes.append(1)
        return alone(write)

    monkeypatch.setattr(code_writes.SENDS, "_together", count_together)
    monkeypatch.setattr(code_writes.SENDS, "_alone", count_alone)
    return sizes


def send(api: Api, to: str, **more: Any) -> Callable[[], ApiResponse]:
    headers = more.pop("headers", {})
    return partial(api.post, "/otp/send", {"phone": to} | more, **headers)


def together(*calls: Callable[[], ApiResponse]) -> list[ApiResponse]:
    return in_one_group(code_writes.SENDS, calls)


def company_with(tokens: int) -> Company:
    company = CompanyFactory.create()
    if tokens:
        ledger.grant(company=company, amount=tokens, reason="test")
    return company


def test_each_grouped_send_gets_its_own_message(
    api: Api, client_of: ClientOf, statements: list[int]
) -> None:
    other = client_of(company_with(100))
    responses = together(*(send(api, phone(n)) for n in range(3)), send(other, phone(0)))

    assert statements == [4]
    assert [response.status for response in responses] == [200] * 4
    assert [response.body["phone"] for response in responses] == [*map(phone, range(3)), phone(0)]
    messages = {f"msg_{message.id.hex}": message for message in Message.objects.all()}
    owners = [messages[response.body["id"]].company_id for response in responses]
    assert owners == [api.company.pk] * 3 + [other.company.pk]
    assert Verification.objects.count() == Transfer.objects.filter(kind="hold").count() == 4
    assert ledger.balance(other.company.pk) == (99, 1)


def test_grouped_sends_write_the_rows_of_a_single_send(api: Api) -> None:
    """Column by column, but for what each send has of its own."""
    alone = send(api, phone(0), locale="en", purpose="login")()
    together(*(send(api, phone(n), locale="en", purpose="login") for n in (1, 2)))

    def rows(model: type[Message | Verification | Transfer], *own: str) -> list[dict[str, Any]]:
        rows = list(model.objects.filter(**_sent(model)).order_by("pk").values())
        return [{name: row[name] for name in row if name not in own} for row in rows]

    assert alone.status == 200
    times = ("created_at", "deadline", "useful_until", "due_at")
    first, *others = rows(Message, "id", "phone", "subject_id", "request_id", *times)
    assert others == [first] * 2
    first, *others = rows(Verification, "id", "phone", "mac", "created_at", "expires_at")
    assert others == [first] * 2
    first, *others = rows(Transfer, "id", "message_id", "created_at")
    assert others == [first] * 2
    lifetimes = {message.useful_until - message.created_at for message in Message.objects.all()}
    assert max(lifetimes) - min(lifetimes) < timedelta(seconds=1)


def _sent(model: type[Any]) -> dict[str, Any]:
    return {"kind": "hold"} if model is Transfer else {}


def test_codes_of_a_group_are_right(api: Api) -> None:
    together(*(send(api, phone(n)) for n in range(3)))

    for n in range(3):
        checked = api.post("/otp/verify", {"phone": phone(n), "code": code_of(phone(n))})
        assert checked.status == 200, checked.raw


def test_live_code_is_sent_again_and_a_used_one_replaced(api: Api, statements: list[int]) -> None:
    for n in range(3):
        send(api, phone(n))()
    api.post("/otp/verify", {"phone": phone(1), "code": code_of(phone(1))})
    live, used, expired = (verification_of(phone(n)) for n in range(3))
    Verification.objects.filter(pk=expired.pk).update(expires_at=timezone.now())
    forget_limits()
    statements.clear()

    responses = together(*(send(api, phone(n)) for n in range(4)))

    assert statements == [4]
    assert [response.status for response in responses] == [200] * 4
    assert verification_of(phone(0)) == live
    assert Message.objects.filter(subject_id=live.pk).count() == 2
    assert verification_of(phone(1)) != used
    assert verification_of(phone(2)) != expired
    expired.refresh_from_db()
    assert expired.superseded_at is not None
    assert expired.settled_at is not None


def test_refused_members_leave_the_others_alone(
    api: Api, client_of: ClientOf, statements: list[int]
) -> None:
    BlockedPhone.objects.create(phone=phone(1))
    poor = client_of(company_with(0))

    responses = together(send(api, phone(0)), send(api, phone(1)), send(poor, phone(2)))

    assert [response.status for response in responses] == [200, 422, 402]
    assert [response.code for response in responses[1:]] == [
        "recipient_unreachable",
        "insufficient_tokens",
    ]
    assert sorted(statements) == [1, 1, 3]
    assert Message.objects.count() == 1


def test_grouped_sends_pass_as_far_as_the_tokens_go(client_of: ClientOf) -> None:
    company = company_with(2)
    api = client_of(company)

    responses = together(*(send(api, phone(n)) for n in range(5)))

    assert sorted(response.status for response in responses) == [200] * 2 + [402] * 3
    assert ledger.balance(company.pk) == (0, 2)
    assert Message.objects.count() == 2


@pytest.mark.parametrize("country", [Budget.DAY, "RU"])
def test_grouped_sends_pass_as_far_as_the_budget_goes(client_of: ClientOf, country: str) -> None:
    company = company_with(100)
    api = client_of(company)
    budgets.set_fixed(company=company, tokens={country: 3}, user=None)

    responses = together(*(send(api, phone(n)) for n in range(5)))

    assert sorted(response.status for response in responses) == [200] * 3 + [429] * 2
    assert Message.objects.count() == 3


def test_grouped_sends_pass_as_far_as_the_key_limit_goes(client_of: ClientOf) -> None:
    company = company_with(100)
    limited = client_of(company)
    free = client_of(company)
    key = ApiKey.objects.get(digest=digest(limited.headers["Authorization"][7:]))
    key_limits.set_limits(company=company, tokens={key.pk: 3}, user=None)

    calls = [send(limited, phone(n)) for n in range(5)] + [send(free, phone(n)) for n in (5, 6)]
    responses = together(*calls)

    assert [response.status for response in responses[5:]] == [200] * 2
    assert sorted(response.status for response in responses[:5]) == [200] * 3 + [429] * 2
    assert Message.objects.count() == 5
    tokens = Wallet.objects.get(company=company).key_tokens
    assert sorted(tokens.values()) == [2, 3]


def test_spending_counts_by_country(client_of: ClientOf) -> None:
    company = company_with(100)
    Company.objects.filter(pk=company.pk).update(all_countries=True)
    api = client_of(company)

    together(send(api, phone(0)), send(api, phone(1)), send(api, "+491512345678"))

    wallet = Wallet.objects.get(company=company)
    assert (wallet.day_tokens, wallet.hour_tokens) == (3, {"RU": 2, "DE": 1})
    assert (wallet.available, wallet.held) == (97, 3)


def test_repeat_under_the_same_key_is_answered_as_the_first(
    api: Api, statements: list[int]
) -> None:
    key = {"Idempotency_Key": "order-1"}
    first = send(api, phone(0), headers=key)()
    forget_limits()
    statements.clear()

    responses = together(send(api, phone(1)), send(api, phone(2), headers={"Idempotency_Key": "2"}))

    assert [response.status for response in responses] == [200, 200]
    assert statements == [2]
    again = send(api, phone(0), headers=key)()
    assert again.body["id"] == first.body["id"]
    again = send(api, phone(2), headers={"Idempotency_Key": "2"})()
    assert again.body["id"] == responses[1].body["id"]
    assert Message.objects.count() == 3


def test_request_that_repeats_a_key_undoes_no_group(api: Api, statements: list[int]) -> None:
    """One that is committed while it waits, and one of the same group."""

    def commit_the_first() -> None:
        body = orjson.dumps({"phone": phone(0)}, option=orjson.OPT_SORT_KEYS)
        key = IdempotencyKey(
            api.company.pk, "live", "/otp/send", "1", hashlib.sha256(body).digest()
        )
        idempotency.insert(key)

    calls = [send(api, phone(n), headers={"Idempotency_Key": k}) for n, k in enumerate("1223")]
    responses = in_one_group(code_writes.SENDS, calls, meanwhile=commit_the_first)

    assert statements == [4, 1, 1]
    assert [responses[n].status for n in (0, 3)] == [409, 200]
    assert responses[0].code == "request_in_progress"
    assert sorted(responses[n].status for n in (1, 2)) == [200, 422]
    assert Message.objects.count() == 2


STATES = ["new", "live", "used", "expired", "exhausted", "of another key", "capped", "blocked"]


def bring_to(state: str, phones: list[str], api: Api) -> None:
    if state != "new":
        for number in phones:
            send(api, number)()
    now = timezone.now()
    changes: dict[str, dict[str, Any]] = {
        "used": {"verified_at": now, "attempts": 1, "judged_at": now},
        "expired": {"expires_at": now},
        "exhausted": {"attempts": 5},
        "of another key": {"key_id": "gone"},
        "capped": {"attempts": 25, "max_attempts": 30, "judged_at": now},
    }
    if state in changes:
        Verification.objects.update(**changes[state])
    if state == "blocked":
        BlockedPhone.objects.bulk_create(BlockedPhone(phone=number) for number in phones)
    forget_limits()


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("channel", ["whatsapp", None])
def test_grouped_send_ends_like_a_single_one(api: Api, state: str, channel: str | None) -> None:
    phones = [phone(n) for n in range(3)]
    bring_to(state, phones, api)
    more = {"channel": channel} if channel else {}

    alone = send(api, phones[0], **more)()
    responses = together(*(send(api, number, **more) for number in phones[1:]))

    def seen(response: ApiResponse) -> dict[str, Any]:
        own = {"id", "verification", "phone", "request_id", "expires_in", "retry_after"}
        return {name: response.body[name] for name in response.body if name not in own}

    def rows(of: str) -> list[dict[str, Any]]:
        values: list[dict[str, Any]]
        values = list(map(dict, Verification.objects.filter(phone=of).order_by("pk").values()))
        own = {"id", "phone", "mac", "created_at", "expires_at", "judged_at", "verified_at"}
        times = {"superseded_at", "settled_at"}
        return [
            {name: bool(row[name]) if name in times else row[name] for name in row.keys() - own}
            for row in values
        ]

    assert [seen(response) for response in responses] == [seen(alone)] * 2
    assert rows(phones[1]) == rows(phones[2]) == rows(phones[0])
    sent = [Message.objects.filter(phone=number).count() for number in phones]
    assert sent == [sent[0]] * 3


def test_waiting_grouped_send_holds_no_connection(api: Api) -> None:
    """A key is looked for before: its connection would be missing to the one that writes."""
    used: list[int] = []

    def count_used() -> None:
        pool = connection.pool.get_stats()  # type: ignore[attr-defined]
        used.append(pool["pool_size"] - pool["pool_available"])

    connection.close()
    calls = [send(api, phone(n), headers={"Idempotency_Key": str(n)}) for n in range(6)]
    responses = in_one_group(code_writes.SENDS, calls, meanwhile=count_used)

    assert [response.status for response in responses] == [200] * 6
    assert used[0] < 2, "a thread of the process's own may use one"


def test_locked_wallet_does_not_block_other_companies(api: Api, client_of: ClientOf) -> None:
    stuck = client_of(company_with(10))
    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        Wallet.objects.select_for_update().get(company=stuck.company)
        calls = [send(stuck, phone(1)), send(api, phone(2)), send(api, phone(3))]
        responses = pool.submit(together, *calls)
        wait_until(lambda: Message.objects.filter(company=api.company).count() == 2, 2.5)
        assert not responses.done()
        transaction.set_rollback(True)

    assert [response.status for response in responses.result(20)] == [200] * 3


def test_locked_code_does_not_block_others(api: Api) -> None:
    send(api, phone(1))()
    forget_limits()
    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        Verification.objects.select_for_update().get(phone=phone(1))
        responses = pool.submit(together, *(send(api, phone(n)) for n in (1, 2, 3)))
        wait_until(lambda: Message.objects.exclude(phone=phone(1)).count() == 2, 2.5)
        assert not responses.done()
        transaction.set_rollback(True)

    assert [response.status for response in responses.result(20)] == [200] * 3


def test_company_alone_waits_for_its_wallet(api: Api, statements: list[int]) -> None:
    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        Wallet.objects.select_for_update().get(company=api.company)
        responses = pool.submit(together, send(api, phone(1)), send(api, phone(2)))
        wait_until(lambda: bool(waiting()), 2.5)
        transaction.set_rollback(True)

    assert [response.status for response in responses.result(20)] == [200] * 2
    assert statements == [2]


def test_lost_connection_is_raised_for_each_and_writes_nothing(
    api: Api, statements: list[int]
) -> None:
    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        Wallet.objects.select_for_update().get(company=api.company)
        responses = pool.submit(together, send(api, phone(1)), send(api, phone(2)))
        wait_until(lambda: bool(waiting()), 2.5)
        end_waiting()
        statuses = [response.status for response in responses.result(20)]

    assert statuses == [503, 503]
    assert statements == [2]
    assert Message.objects.count() == 0
    assert ledger.balance(api.company.pk) == (1000, 0)


def test_codes_with_links_and_those_of_test_keys_run_alone(
    api: Api, test_api: Api, statements: list[int]
) -> None:
    assert send(api, phone(1), link="https://example.com/")().status == 200
    assert send(test_api, phone(7654))().status == 200

    assert statements == []
