"""Balance alerts: each level notifies once until the balance has left it."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import AuditEvent, Mail, Member
from billing.models import BalanceAlert, SpentDay
from billing.wallet import balance_alerts
from tests.api.races import at_once
from tests.billing.wallet.test_low_balance import has
from tests.factories import MemberFactory

pytestmark = pytest.mark.django_db
Kind = BalanceAlert.Kind


def watch(member: Member, kind: str, *levels: int) -> None:
    for level in levels:
        BalanceAlert.objects.create(company=member.company, kind=kind, level=level)


def spend(member: Member, tokens: int, *days_ago: int) -> None:
    for n in days_ago:
        SpentDay.objects.create(
            company=member.company,
            country="RU",
            day=timezone.localdate() - timedelta(days=n),
            tokens=tokens,
            busiest_hour=tokens,
        )


def subjects() -> list[str]:
    emails = Mail.objects.filter(template="balance_alert").order_by("created_at")
    return [email.subject for email in emails]


def test_each_level_notifies_once_until_it_is_left(owner: Member) -> None:
    watch(owner, Kind.TOKENS, 5000, 1000)
    has(owner.company, 6000)
    balance_alerts.sweep()
    assert subjects() == []

    has(owner.company, 4999)
    balance_alerts.sweep()
    balance_alerts.sweep()
    assert subjects() == ["Kvitok: у компании «Ромашка» осталось 4 999 токенов"]

    has(owner.company, 900)
    balance_alerts.sweep()
    assert len(subjects()) == 2

    has(owner.company, 5400)  # above the level, not by a tenth
    balance_alerts.sweep()
    has(owner.company, 4000)
    balance_alerts.sweep()
    assert len(subjects()) == 2

    has(owner.company, 5500)
    balance_alerts.sweep()
    has(owner.company, 4000)
    balance_alerts.sweep()
    assert len(subjects()) == 3


@pytest.mark.parametrize(("hours", "told"), [(0, 1), (25, 2)])
def test_alert_removed_and_added_again_is_sent_once_per_crossing(
    owner: Member, hours: int, told: int
) -> None:
    company = owner.company
    user = owner.user
    has(company, 4000)
    for _time in range(2):
        balance_alerts.add(company=company, kind=Kind.TOKENS, level=5000, user=user)
        balance_alerts.sweep()
        balance_alerts.remove(alert=BalanceAlert.objects.get(), user=user)
        Mail.objects.update(created_at=timezone.now() - timedelta(hours=hours))
    assert len(subjects()) == told

    balance_alerts.add(company=company, kind=Kind.TOKENS, level=5000, user=user)
    for available in (6000, 4000):
        has(company, available)
        balance_alerts.sweep()
    assert len(subjects()) == told + 1


def test_days_are_of_the_last_week(owner: Member) -> None:
    watch(owner, Kind.DAYS, 3)
    has(owner.company, 299)
    balance_alerts.sweep()
    assert subjects() == []  # nothing was spent: it lasts for ever

    spend(owner, 100, 1, 2, 3, 4, 5, 6, 7)
    spend(owner, 99_999, 8)
    balance_alerts.sweep()
    assert subjects() == ["Kvitok: у компании «Ромашка» токенов на 2 дня"]

    has(owner.company, 400)
    balance_alerts.sweep()
    has(owner.company, 100)
    balance_alerts.sweep()
    assert subjects()[1:] == ["Kvitok: у компании «Ромашка» токенов на 1 день"]


def test_two_sweeps_at_once_notify_once(transactional_db: None) -> None:
    owner = MemberFactory.create()
    watch(owner, Kind.TOKENS, 10)
    has(owner.company, 5)

    told = at_once([balance_alerts.sweep] * 4)

    assert sum(told) == 1
    assert len(subjects()) == 1


@pytest.mark.parametrize(
    ("kind", "level", "is_added"),
    [
        ("tokens", "5 000", True),
        ("days", "90", True),
        ("days", "91", False),
        ("budget", "100", True),
        ("budget", "101", False),
        ("tokens", "0", False),
        ("tokens", "", False),
        ("hours", "5", False),
        ("tokens", "9" * 30, False),
    ],
)
def test_alert_with_a_valid_level_is_added(
    client: Client, owner: Member, kind: str, level: str, is_added: bool
) -> None:
    client.force_login(owner.user)

    page = client.post(reverse("balance-alert-add"), {"kind": kind, "level": level}, follow=True)

    assert page.status_code == 200
    assert BalanceAlert.objects.exists() is is_added
    assert ("Уведомление добавлено." in page.content.decode()) is is_added


def test_alerts_are_unique_and_limited(client: Client, owner: Member) -> None:
    client.force_login(owner.user)
    for level in (1, 1, *range(2, 12)):
        page = client.post(
            reverse("balance-alert-add"), {"kind": "tokens", "level": level}, follow=True
        )

    assert BalanceAlert.objects.count() == balance_alerts.MAX_ALERTS
    assert "не больше 10" in page.content.decode()
    assert (
        AuditEvent.objects.filter(action="balance_alert.added").count() == balance_alerts.MAX_ALERTS
    )


def test_alert_of_another_company_cannot_be_removed(client: Client, owner: Member) -> None:
    other = MemberFactory.create()
    watch(other, Kind.TOKENS, 10)
    address = reverse("balance-alert-remove", args=[BalanceAlert.objects.get().pk])

    client.force_login(owner.user)
    assert client.post(address).status_code == 404
    assert BalanceAlert.objects.exists()

    client.force_login(other.user)
    assert client.post(address).status_code == 302
    assert not BalanceAlert.objects.exists()
