"""Budgets follow a company's usual spending, without what a stolen key sent."""

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import Settings

from accounts.models import Company
from billing.budgets import budgets
from billing.models import Budget, SpentDay
from catalogue.ids import uuid7
from channels.models import Message
from otp.statistics import usual_spending
from tests.factories import MessageFactory, VerificationFactory
from tests.otp.protection.sends import id_at

pytestmark = pytest.mark.django_db


def spent(
    company: Company,
    tokens: int,
    *,
    days: int = 1,
    hour: int = 12,
    kind: str = "code",
    phone: str = "+79161234567",
    is_entered: bool = True,
    **fields: object,
) -> None:
    """One message of this price on that day; its code was entered correctly."""
    at = timezone.localtime().replace(hour=hour, minute=0, second=0) - timedelta(days=days)
    subject_id = uuid7()
    if kind == "code":
        subject_id = VerificationFactory.create(
            company=company,
            id=id_at(at),
            phone=phone,
            verified_at=at if is_entered else None,
            superseded_at=at,
        ).pk
    MessageFactory.create(
        id=id_at(at),
        company=company,
        kind=kind,
        phone=phone,
        price=tokens,
        subject_id=subject_id,
        state="delivered",
        created_at=at,
        **fields,
    )


def usual(company: Company) -> dict[str, int | None]:
    return dict(Budget.objects.filter(company=company).values_list("country", "usual_tokens"))


def test_usual_spending_is_thrice_the_busiest_day_and_hour(company: Company) -> None:
    spent(company, 100, days=3, hour=9)
    spent(company, 200, days=3, hour=9)
    spent(company, 50, days=3, hour=10, phone="+77012345678")
    spent(company, 40, days=2, kind="link")
    spent(company, 9000, days=29)

    usual_spending.refresh()

    assert usual(company) == {"": 1050, "RU": 900, "KZ": 150}
    company.refresh_from_db()
    assert company.budgets == {"": [None, 1050], "RU": [None, 900], "KZ": [None, 150]}


def test_unproved_messages_raise_no_budget(company: Company) -> None:
    spent(company, 500, is_entered=False)
    spent(company, 500, mode="test")
    spent(company, 500, kind="link")
    Message.objects.filter(kind="link").update(state="expired")

    usual_spending.refresh()

    assert usual(company) == {}


def test_codes_of_persons_erased_the_same_day_count(company: Company) -> None:
    spent(company, 100, phone="+7916*")
    spent(company, 50, phone="+7701*")

    usual_spending.refresh()

    assert usual(company) == {"": 450, "RU": 300, "KZ": 150}


def test_days_are_counted_once_and_forgotten_in_time(company: Company, settings: Settings) -> None:
    spent(company, 100, days=2)
    usual_spending.refresh()
    Message.objects.update(price=10_000)

    assert usual_spending.refresh() == 0
    settings.BUDGET_USUAL = (3, 1)
    assert usual_spending.refresh() == 1

    assert usual(company) == {"": None, "RU": None}
    assert not SpentDay.objects.exists()


def test_budget_set_by_hand_is_not_overwritten(company: Company) -> None:
    budgets.set_fixed(company=company, tokens={"": 7, "RU": 5}, user=None)
    spent(company, 5000)

    usual_spending.refresh()

    company.refresh_from_db()
    held = budgets.params(company.budgets, "RU")
    assert (held["day_budget"], held["hour_budget"]) == (7, 5)
