"""Budgets apply to fallback steps as to sends, in batches and singly."""

from collections import Counter
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from accounts.models import Company
from billing.wallet import ledger
from channels.lifecycle.state_machine import EventKind
from channels.models import FallbackEvent, Message
from tests.api.clients import Api
from tests.billing.budgets.budget_use import PHONE, held_tokens, set_budget, used
from tests.billing.seals.books import by_force
from tests.channels.message_stages import apply_event, submitted
from tests.factories import MessageFactory

pytestmark = pytest.mark.django_db

PAID = ledger.HoldMoveResult.PAID
TOO_FEW = ledger.HoldMoveResult.TOO_FEW_TOKENS
OVER = ledger.HoldMoveResult.OVER_BUDGET


def move(company_id: int, message_id: UUID, **fields: Any) -> ledger.HoldMove:
    values: dict[str, Any] = {
        "hold": 1,
        "old_price": 0,
        "new_price": 16,
        "country": "RU",
        "reason": "test",
    }
    return ledger.HoldMove(company_id, message_id, **values | fields)


def step(*moves: ledger.HoldMove) -> list[ledger.HoldMoveResult]:
    with transaction.atomic(), connection.cursor() as cursor:
        moved = ledger.move_holds(cursor, moves)
    return [moved[hold_move.message_id] for hold_move in moves]


class TestGroupOfSteps:
    """A refused send takes nothing from the others' budget."""

    @pytest.fixture(autouse=True)
    def hundred_tokens(self, api: Api) -> None:
        available, _held = ledger.balance(api.company.pk)
        ledger.withdraw(company=api.company, amount=available - 100, reason="test")

    def steps(
        self, company: Company, *countries: str, **fields: Any
    ) -> list[ledger.HoldMoveResult]:
        rows = [MessageFactory.create(company=company) for _ in countries]
        return step(
            *(
                move(company.pk, row.pk, country=country, **fields)
                for row, country in zip(rows, countries, strict=True)
            )
        )

    def test_steps_refused_by_country_take_no_tokens(self, company: Company) -> None:
        set_budget(company, KZ=0)

        assert self.steps(company, *["KZ"] * 7, "RU") == [OVER] * 7 + [PAID]
        assert used(company) == (16, {"RU": 16})

    def test_steps_refused_by_country_use_no_daily_budget(self, company: Company) -> None:
        set_budget(company, KZ=0, day=16)

        assert self.steps(company, *["KZ"] * 7, "RU") == [OVER] * 7 + [PAID]

    def test_steps_beyond_the_day_take_no_tokens(self, company: Company) -> None:
        set_budget(company, day=32)

        assert Counter(self.steps(company, *["RU"] * 9)) == {PAID: 2, OVER: 7}

    def test_each_limit_lets_as_many_pass_as_fit(self, company: Company) -> None:
        set_budget(company, KZ=32)

        moved = self.steps(company, *["KZ"] * 4, *["RU"] * 5)

        assert Counter(moved)[PAID] == 6
        assert OVER in moved[:4]
        assert OVER not in moved[4:]
        assert held_tokens(company) == 96


def fall_back(api: Api) -> Message:
    """A message whose first channel does not reach its person."""
    attempt = submitted(api, PHONE)
    apply_event(attempt, EventKind.UNREACHABLE)
    return Message.objects.get(pk=attempt.message_id)


@pytest.mark.usefixtures("chain")
class TestFallback:
    def test_dearer_step_counts_the_difference(self, api: Api) -> None:
        set_budget(api.company, day=16, RU=16)

        message = fall_back(api)

        assert (message.channel, message.price, held_tokens(api.company)) == ("sms", 16, 16)
        assert used(api.company) == (16, {"RU": 16})

    @pytest.mark.parametrize("budget", [{"day": 15}, {"RU": 15}])
    def test_fallback_over_a_budget_is_refused(self, api: Api, budget: dict[str, int]) -> None:
        set_budget(api.company, **budget)

        message = fall_back(api)

        assert message.state == "failed"
        assert message.channel == "whatsapp"
        assert held_tokens(api.company) == 0
        assert FallbackEvent.objects.get().reason == "budget"
        assert used(api.company) == (0, {"RU": 0})

    def test_cheaper_step_refunds_the_budgets(self, api: Api) -> None:
        message = fall_back(api)
        assert used(api.company) == (16, {"RU": 16})

        assert step(move(message.company_id, message.pk, hold=2, old_price=16, new_price=1)) == [
            PAID
        ]

        assert used(api.company) == (1, {"RU": 1})
        assert held_tokens(api.company) == 1

    def test_cheaper_fallback_on_another_day_refunds_nothing(self, api: Api) -> None:
        message = fall_back(api)
        by_force("UPDATE billing_transfer SET created_at = created_at - interval '1 day'", [])

        step(move(message.company_id, message.pk, hold=2, old_price=16, new_price=1))

        assert used(api.company) == (16, {"RU": 16})

    def test_too_few_tokens_are_not_called_a_budget(self, api: Api) -> None:
        ledger.withdraw(company=api.company, amount=990, reason="test")

        fall_back(api)

        assert FallbackEvent.objects.get().reason == "tokens"
