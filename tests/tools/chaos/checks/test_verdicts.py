"""Uncharged deliveries and their reasons; missing kills; errors in logs."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accounts.models import Company
from billing.models import Order
from channels.models import Attempt, Message
from otp import codes
from tests.billing.documents.history import at, buy, make_company
from tests.billing.seals.books import book
from tests.factories import AttemptFactory, OrderFactory, ReceiptFactory
from tests.sql import execute
from tests.tools.chaos.checks.scenarios import PHONE, World
from tools.chaos import checks, payments
from tools.chaos.checks import PROVABLE, logged_errors
from tools.chaos.fault_injector import FaultInjector
from tools.chaos.plan import Options, Plan, Target, make
from tools.chaos.report import check_kills, check_logs

pytestmark = pytest.mark.django_db

OPTIONS = Options(seed=7, sends=300, kills=6, flush=False, short=True)


def why(**fields: Any) -> list[str]:
    """Why a second message of the world is free, which its phone got and nobody paid for."""
    world = World()
    message = world.add_message(state="expired")
    world.transfer(message, "release")
    attempt = AttemptFactory.create(
        message=message,
        state="expired",
        provider=fields.pop("provider", "twilio"),
        provider_id=None,
    )
    if fields.pop("said_failed", False):
        ReceiptFactory.create(attempt=attempt, state="failed", provider_id="SM1")
    world.phone.append(world.arrival(attempt, id=2, provider_id="SM1", **fields))
    world.write_tables()
    return list(checks.uncharged().values())


@pytest.mark.django_db
def test_too_many_uncharged_deliveries_violate_the_invariant() -> None:
    assert why() == [PROVABLE]

    (timeline,) = checks.check_uncharged(checks.uncharged()).subjects

    assert "| attempt 1 expired" in timeline


class Struck(FaultInjector):
    """One that has done so much."""

    def __init__(self, kills: Counter[str], disruptions: Counter[str]) -> None:
        self.kills = kills
        self.disruptions = disruptions


def planned(plan: Plan) -> Counter[str]:
    return Counter(str(planned_fault.what) for planned_fault in plan.planned_faults)


def test_missing_kill_fails_the_run() -> None:
    plan = make(OPTIONS)
    done = planned(plan)

    complete = check_kills(plan, Struck(done, Counter()))
    missing = check_kills(plan, Struck(done - Counter({Target.POSTGRES: 1}), Counter()))

    assert complete.is_kept
    assert missing.subjects == ["postgres: 0 of 1"]


def test_errors_explained_by_a_kill_are_distinguished(tmp_path: Path) -> None:
    away = "E\ndjango.db.utils.OperationalError: server closed the connection unexpectedly"
    bug = "E\nKeyError: 'code'"
    lines = [
        json.dumps({"event": "dispatch_failed", "level": "error", "exception": away}),
        json.dumps({"event": "database_unavailable", "level": "error", "error": "PoolTimeout"}),
        json.dumps(
            {"event": "Service Unavailable: /hooks/x", "level": "error", "logger": "django.request"}
        ),
        json.dumps({"event": "message_not_rendered", "level": "error", "exception": bug}),
        json.dumps({"event": "api_request", "level": "info", "status": 200}),
        "Traceback (most recent call last):",
        '  File "x.py", line 1, in f',
        "ValueError: no",
    ]
    log = tmp_path / "worker.log"
    log.write_text("\n".join(lines), encoding="utf-8")

    explained, others = logged_errors([log])

    assert explained.total() == 3
    assert others == {
        "worker: message_not_rendered (KeyError: 'code')": 1,
        "worker: traceback (ValueError: no)": 1,
    }
    assert len(check_logs(others).subjects) == 2


LENGTH = 6


def matched() -> dict[int, object]:
    return dict(execute("SELECT id, attempt_id FROM phone_message"))


def by_bot(message: Message, n: int, provider_id: str | None) -> Attempt:
    return AttemptFactory.create(
        message=message, n=n, provider="telegram_bot", provider_id=provider_id, state="failed"
    )


def test_bot_messages_are_listed_by_name_or_code() -> None:
    world = World()
    key = codes.current_key()
    message = world.add_message(params={"key": key, "length": LENGTH}, channel="telegram")
    named = by_bot(message, 1, f"1:{PHONE.lstrip('+')}:7")
    lost = by_bot(message, 2, None)
    lost_again = by_bot(message, 3, None)
    code = codes.derive(world.verification.id, key_id=key, length=LENGTH)
    phone = {"provider": "telegram_bot", "ref": None, "code": code}
    world.phone = [
        world.arrival(named, **phone | {"id": n, "provider_id": str(n)}) for n in (5, 6, 7, 8)
    ]
    world.phone += [world.arrival(named, **phone | {"id": 9, "provider_id": "9", "code": "0"})]

    world.write_tables()

    assert matched() == {5: lost.pk, 6: lost_again.pk, 7: named.pk, 8: None, 9: None}


def found(paid: list[Order], placed: int = 1, refused: tuple[str, ...] = ()) -> list[str]:
    ids = [str(order.pk) for order in paid]
    credits_, _kills = payments.findings(ids, placed, refused=refused, hits=1, planned=1)
    return credits_.subjects


@pytest.fixture
def one() -> Company:
    return make_company()


@pytest.fixture
def order(one: Company) -> Order:
    return buy(one, at(10, 3), 100, "122.00")


def test_order_that_was_paid_and_credited_once_is_right(order: Order) -> None:
    assert found([order]) == []


def other_tokens(order: Order) -> None:
    Order.objects.filter(pk=order.pk).update(tokens=99)


def no_payment(order: Order) -> None:
    order.payments.update(is_credited=False)


def never_credited(order: Order) -> None:
    Order.objects.filter(pk=order.pk).update(state="expired", paid_at=None)


@pytest.mark.parametrize("break_it", [other_tokens, no_payment, never_credited])
def test_broken_credit_is_found(order: Order, break_it: Callable[[Order], None]) -> None:
    break_it(order)

    (fault,) = found([order])

    assert str(order.pk) in fault


def test_credits_without_orders_are_found(one: Company, order: Order) -> None:
    book(one, at(10, 4), "top_up", 5, key="top_up:0")

    faults = found([])

    assert [fault.partition(":")[2] for fault in faults[:1]] == ["0: a credit without an order"]
    assert str(order.pk) in faults[1]


def test_lost_and_doubled_top_ups_are_found(one: Company, order: Order) -> None:
    lost = OrderFactory.build(company=one)
    OrderFactory.create(company=one)

    faults = found([order, lost], placed=1, refused=("stripe: 422 invalid_input",))

    assert faults == [
        f"{lost.pk}: paid, and unknown",
        "stripe: 422 invalid_input: refused",
        "2 orders for 1 top-ups",
    ]


@pytest.mark.parametrize(
    ("hits", "planned", "is_kept"), [(1, 2, True), (0, 2, False), (0, 0, True)]
)
def test_run_without_a_kill_at_a_credit_fails(hits: int, planned: int, is_kept: Any) -> None:
    _credits, kills = payments.findings([], 0, refused=[], hits=hits, planned=planned)

    assert kills.is_kept is is_kept
