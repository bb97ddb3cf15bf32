"""Owners set budgets while the derived budgets are recomputed."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial

import pytest
from django.db import transaction
from django.utils import timezone

from accounts.models import Company
from billing.budgets import budgets
from billing.models import Budget, SpentDay
from tests.api.blocking import start_blocked
from tests.api.races import at_once
from tests.factories import CompanyFactory
from tests.sql import execute

pytestmark = pytest.mark.django_db(transaction=True)


def spent(company: Company, tokens: int, country: str = "RU") -> None:
    SpentDay.objects.update_or_create(
        company=company,
        country=country,
        day=timezone.localdate() - timedelta(days=1),
        defaults={"tokens": tokens, "busiest_hour": tokens},
    )


def published(company: Company) -> dict[str, object]:
    company.refresh_from_db()
    return dict(company.budgets)


@pytest.mark.parametrize("name", ["learn", "publish"])
def test_budget_set_meanwhile_is_not_undone(company: Company, name: str) -> None:
    call = partial(budgets.publish, [company.pk]) if name == "publish" else budgets.update_usual
    spent(company, 100)
    Company.objects.filter(pk=company.pk).update(budgets={"SO": [1, None]})  # there is to write
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            budgets.set_fixed(company=company, tokens={"KZ": 0}, user=None)
            running = start_blocked(pool, call)
        running.result()

    assert published(company).get("KZ") == [0, None]


def test_companies_are_locked_before_their_budgets(company: Company) -> None:
    """Otherwise each of the two holds what the other waits for."""
    spent(company, 100)
    budgets.update_usual()
    spent(company, 200)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            Company.objects.select_for_update(no_key=True).get(pk=company.pk)
            running = start_blocked(pool, budgets.update_usual)
            execute("SET LOCAL lock_timeout = '1s'")
            budgets.set_fixed(company=company, tokens={"RU": 5, "": 7}, user=None)
        running.result()

    assert published(company) == {"": [7, 600], "RU": [5, 600]}


def test_parallel_set_and_update_of_usual_agree(company: Company) -> None:
    for n in range(10):
        spent(company, 100 + n)
        own = {"RU": n, "KZ": n}
        both: list[Callable[[], object]] = [
            partial(budgets.set_fixed, company=company, tokens=own, user=None),
            budgets.update_usual,
        ]
        at_once(both)
        assert published(company) == {
            budget.country: [budget.fixed_tokens, budget.usual_tokens]
            for budget in Budget.objects.filter(company=company)
        }
        assert published(company)["KZ"] == [n, None]


def test_published_budgets_are_corrected(company: Company) -> None:
    budgets.set_fixed(company=company, tokens={"KZ": 0}, user=None)
    Company.objects.filter(pk=company.pk).update(budgets={})
    stranger = CompanyFactory.create(budgets={"RU": [9, None]})

    assert budgets.update_usual() == 0

    assert published(company) == {"KZ": [0, None]}
    assert published(stranger) == {}


def test_usual_budgets_are_updated_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budgets, "BATCH_SIZE", 2)
    companies = [CompanyFactory.create() for _ in range(5)]
    for company in companies:
        spent(company, 10)

    assert budgets.update_usual() == 5
    assert budgets.update_usual() == 0
    for company in companies:
        assert published(company) == {"": [None, 30], "RU": [None, 30]}
