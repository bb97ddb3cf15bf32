"""Owners get one e-mail per budget and period when most of it is used."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import Mail, Member
from billing.budgets import budgets
from billing.models import BalanceAlert, Wallet
from billing.wallet import balance_alerts
from tests.api.races import at_once
from tests.factories import ApiKeyFactory, MemberFactory, WalletFactory

pytestmark = pytest.mark.django_db


def use(owner: Member, day: int, **hours: int) -> None:
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    Wallet.objects.filter(company=owner.company).update(
        day=timezone.localdate(), day_tokens=day, hour=hour, hour_tokens=hours
    )


@pytest.fixture
def owner() -> Member:
    member: Member = MemberFactory.create()
    WalletFactory.create(company=member.company)
    MemberFactory.create(company=member.company, role=Member.Role.DEVELOPER)
    budgets.set_fixed(company=member.company, tokens={"": 100, "RU": 50}, user=None)
    return member


def test_email_at_four_fifths_to_owners_once(owner: Member) -> None:
    use(owner, 79, RU=39)
    assert balance_alerts.sweep_budgets() == 0

    use(owner, 80, RU=39)
    assert [balance_alerts.sweep_budgets(), balance_alerts.sweep_budgets()] == [1, 0]

    (email,) = Mail.objects.all()
    assert email.to == owner.user.email
    assert email.subject == f"Kvitok: у компании «{owner.company}» израсходовано 80 % бюджета"
    assert "80 из 100 токенов дневного бюджета" in email.text
    assert "/cabinet/settings/budgets" in email.text


def test_each_budget_sends_its_own_email(owner: Member) -> None:
    use(owner, 100, RU=50, KZ=1)

    assert balance_alerts.sweep_budgets() == 2
    assert Mail.objects.filter(text__contains="на страну: Россия").count() == 1


def test_next_period_has_its_own_email(owner: Member) -> None:
    use(owner, 1, RU=45)
    assert balance_alerts.sweep_budgets() == 1
    mail = Mail.objects.get()
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    ended = f"{hour.timestamp():.0f}"
    assert mail.key
    Mail.objects.update(key=mail.key.replace(mail.key.split(":")[3], ended))

    assert balance_alerts.sweep_budgets() == 1


def test_key_limit_sends_its_own_email(owner: Member) -> None:
    use(owner, 10)
    key = ApiKeyFactory.create(company=owner.company, day_limit=10)
    free = ApiKeyFactory.create(company=owner.company)
    tokens = {str(key.pk): 8, str(free.pk): 9999}
    Wallet.objects.update(day=timezone.localdate(), key_tokens=tokens)

    assert [balance_alerts.sweep_budgets(), balance_alerts.sweep_budgets()] == [1, 0]

    (email,) = Mail.objects.all()
    assert f"API-ключ {key.name} {key} израсходовал 8 из 10 токенов" in email.text


def test_yesterday_s_usage_is_not_mailed(owner: Member) -> None:
    use(owner, 100)
    Wallet.objects.update(day=timezone.localdate() - timedelta(days=1))

    assert balance_alerts.sweep_budgets() == 0


@pytest.mark.django_db(transaction=True)
def test_sweeps_at_once_write_one_email(owner: Member) -> None:
    use(owner, 100)

    at_once([balance_alerts.sweep_budgets] * 5)

    assert Mail.objects.count() == 1


def test_chosen_share_warns_once_a_day(owner: Member) -> None:
    alert = BalanceAlert.objects.create(company=owner.company, kind="budget", level=50)
    use(owner, 49)
    assert balance_alerts.sweep_budgets() == 0

    use(owner, 55)
    assert [balance_alerts.sweep_budgets(), balance_alerts.sweep_budgets()] == [1, 0]
    (email,) = Mail.objects.filter(template="balance_alert")
    assert "55 %" in email.subject

    BalanceAlert.objects.filter(pk=alert.pk).update(notified_at=timezone.now() - timedelta(days=1))
    assert balance_alerts.sweep_budgets() == 1


def test_two_sweeps_at_once_notify_of_a_share_once(transactional_db: None) -> None:
    owner = MemberFactory.create()
    WalletFactory.create(company=owner.company)
    budgets.set_fixed(company=owner.company, tokens={"": 100}, user=None)
    BalanceAlert.objects.create(company=owner.company, kind="budget", level=50)
    use(owner, 60)

    at_once([balance_alerts.sweep_budgets] * 4)

    assert Mail.objects.filter(template="balance_alert").count() == 1
