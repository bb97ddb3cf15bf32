"""The e-mail about a low balance: to whom, when, and once."""

import pytest
from django.db import transaction

from accounts.models import Company, Mail, Member
from billing.models import BillingProfile
from billing.orders import billing_profiles
from billing.tasks import send_low_balance_alerts
from billing.wallet import balance_alerts, ledger
from tests.api.races import at_once
from tests.factories import EndpointFactory
from webhooks.models import Event

pytestmark = pytest.mark.django_db


def has(company: Company, tokens: int) -> None:
    """Sets the balance through the ledger."""
    available, _ = ledger.balance(company.pk)
    if tokens > available:
        ledger.grant(company=company, amount=tokens - available, reason="test")
    elif tokens < available:
        ledger.withdraw(company=company, amount=available - tokens, reason="test")


def emails() -> int:
    return Mail.objects.filter(template="balance_low").count()


def set_threshold(owner: Member, tokens: int) -> None:
    billing_profiles.change(company=owner.company, user=owner.user, changes={"low_balance": tokens})


def test_email_says_how_many_are_left(owner: Member) -> None:
    has(owner.company, 99)

    send_low_balance_alerts()

    mail = Mail.objects.get()
    assert mail.to == owner.user.email
    assert mail.subject == "Kvitok: у компании «Ромашка» осталось 99 токенов"
    assert "/cabinet/balance" in mail.text


@pytest.mark.parametrize(("tokens", "alerts"), [(100, 0), (99, 1), (0, 1), (1000, 0)])
def test_threshold_is_a_hundred_unless_set(owner: Member, tokens: int, alerts: int) -> None:
    has(owner.company, 500)
    has(owner.company, tokens)

    assert (balance_alerts.sweep_low_balances(), emails()) == (alerts, alerts)


def test_notified_once_until_the_balance_recovers(owner: Member) -> None:
    steps = [(99, 1), (50, 1), (99, 1), (100, 1), (109, 1), (99, 1), (110, 1), (99, 2), (99, 2)]

    for tokens, alerts in steps:
        has(owner.company, tokens)
        balance_alerts.sweep_low_balances()

        assert (tokens, emails()) == (tokens, alerts)


def test_zero_threshold_never_notifies(owner: Member) -> None:
    set_threshold(owner, 0)
    has(owner.company, 1)
    has(owner.company, 0)

    assert (balance_alerts.sweep_low_balances(), emails()) == (0, 0)


def test_higher_threshold_notifies_and_a_lower_one_rearms(owner: Member) -> None:
    has(owner.company, 500)
    assert balance_alerts.sweep_low_balances() == 0

    set_threshold(owner, 1000)
    assert balance_alerts.sweep_low_balances() == 1
    set_threshold(owner, 100)
    assert balance_alerts.sweep_low_balances() == 0
    set_threshold(owner, 1000)
    assert balance_alerts.sweep_low_balances() == 1


def test_company_that_never_had_tokens_is_not_notified(owner: Member) -> None:
    assert (balance_alerts.sweep_low_balances(), emails()) == (0, 0)


def test_suspended_company_is_not_notified(owner: Member) -> None:
    has(owner.company, 1)
    Company.objects.update(status=Company.Status.SUSPENDED)

    assert balance_alerts.sweep_low_balances() == 0


def test_email_and_mark_are_atomic(owner: Member) -> None:
    has(owner.company, 1)

    with transaction.atomic():
        balance_alerts.sweep_low_balances()
        transaction.set_rollback(True)

    assert (emails(), BillingProfile.objects.exclude(low_balance_notified_at=None).count()) == (
        0,
        0,
    )
    assert balance_alerts.sweep_low_balances() == 1


@pytest.mark.django_db(transaction=True)
def test_parallel_sweeps_notify_once(owner: Member) -> None:
    has(owner.company, 1)

    alerts = at_once([balance_alerts.sweep_low_balances] * 8)

    assert (sum(alerts), emails()) == (1, 1)


def test_endpoint_is_called_back(owner: Member) -> None:
    EndpointFactory.create(company=owner.company, kinds=["balance.low"])
    has(owner.company, 99)

    balance_alerts.sweep_low_balances()
    balance_alerts.sweep_low_balances()

    event = Event.objects.get()
    assert (event.kind, event.mode, event.data) == (
        "balance.low",
        "live",
        {"available": 99, "threshold": 100, "test": False},
    )
