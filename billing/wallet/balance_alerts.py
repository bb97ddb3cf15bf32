"""Alerts a company once when its balance or a budget is low, and again only after it has recovered.

The triggers are the threshold of its settings, its own alerts (tokens left, days left at last
week's pace, a share of the day's budget), and nearly used budgets and key limits. Sweeps check
them, never the send: spending a token must not wait for an e-mail.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import BigIntegerField, F, Q, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.audit import record
from accounts.jobs import Job
from accounts.models import Company, Mail, Member, User
from accounts.outbox import mail
from billing import notifications
from billing.budgets import budgets, key_limits, sql
from billing.budgets.key_limits import KeyUsage
from billing.budgets.sql import BudgetUsage
from billing.models import BalanceAlert, BillingProfile, SpentDay, Wallet
from billing.models.party import DEFAULT_THRESHOLD
from catalogue.errors import DomainError, Error
from parsing.days import start_of
from storage.statements.queries import fetch_column

# Tenths of the threshold: holds that fluctuate around it must not notify repeatedly.
REARM_TENTHS = 11
LOW_BALANCE = Job("low_balance", _("e-mails about a low balance"))


def sweep_low_balances() -> int:
    """Notifies companies below their threshold; returns how many."""
    reset_warnings()
    return sum(LOW_BALANCE.each(_companies_below_threshold(), _notify_low_balance))


def reset_warnings() -> int:
    """Lets companies whose balance has recovered be notified again."""
    return (
        BillingProfile.objects.exclude(low_balance_notified_at=None)
        .annotate(enough=F("low_balance") * REARM_TENTHS / 10)
        .filter(Q(company__wallet__available__gte=F("enough")) | Q(low_balance=0))
        .update(low_balance_notified_at=None)
    )


def _companies_below_threshold() -> list[int]:
    threshold = Coalesce(
        "company__billingprofile__low_balance", DEFAULT_THRESHOLD, output_field=BigIntegerField()
    )
    rows = (
        Wallet.objects.annotate(threshold=threshold)
        .filter(available__lt=F("threshold"), company__billingprofile__low_balance_notified_at=None)
        .exclude(company__status=Company.Status.SUSPENDED)
    )
    return list(rows.order_by("company_id").values_list("company_id", flat=True))


@transaction.atomic
def _notify_low_balance(company_id: int) -> bool:
    """Notifies the company; the profile's row is the lock, so one of parallel sweeps does it."""
    BillingProfile.objects.get_or_create(company_id=company_id)
    profile = BillingProfile.objects.select_for_update(of=("self",)).get(company_id=company_id)
    available = Wallet.objects.values_list("available", flat=True).get(company_id=company_id)
    if profile.low_balance_notified_at is not None or available >= profile.low_balance:
        return False
    profile.low_balance_notified_at = timezone.now()
    profile.save(update_fields=["low_balance_notified_at"])
    notifications.notify_low_balance(
        Company.objects.get(pk=company_id),
        available=available,
        threshold=profile.low_balance,
        at=profile.low_balance_notified_at,
    )
    return True


JOB = Job("balance_alerts", _("companies' own alerts"))
Kind = BalanceAlert.Kind
MAX_ALERTS = 10  # alerts of a company
PACE_DAYS = 7
MAX_DAYS = 90
TOO_MANY = format_lazy(
    _("A company can have up to {max} more alerts: remove one first."), max=MAX_ALERTS
)


class BalanceOutlook(NamedTuple):
    """A company's present balance, and how long it lasts."""

    available: int
    days: int | None  # None: nothing was spent, so it lasts forever

    def value_of(self, kind: str) -> int | None:
        return self.available if kind == Kind.TOKENS else self.days


def sweep() -> int:
    """Posts the due alerts of companies; returns how many."""
    watched = BalanceAlert.objects.filter(kind__in=(Kind.TOKENS, Kind.DAYS))
    watched = watched.exclude(company__status=Company.Status.SUSPENDED)
    outlooks = _outlooks(set(watched.values_list("company_id", flat=True)))
    ordered = watched.order_by("company_id", "kind", "-level")
    return sum(JOB.each(ordered, lambda alert: _check_alert(alert, outlooks.get(alert.company_id))))


def _check_alert(alert: BalanceAlert, outlook: BalanceOutlook | None) -> bool:
    """Checks an alert; returns whether it was posted."""
    if outlook is None:
        return False
    now = outlook.value_of(alert.kind)
    if alert.notified_at is None and now is not None and now < alert.level:
        return _post_alert(alert.pk, now)
    if alert.notified_at is not None and _has_recovered(alert, now):
        BalanceAlert.objects.filter(pk=alert.pk).update(notified_at=None)
    return False


def _has_recovered(alert: BalanceAlert, now: int | None) -> bool:
    """Whether the value has moved away from the level far enough for a new alert.

    A balance that fluctuates around the level must not cause an e-mail each time.
    """
    if now is None:
        return True
    margin = alert.level + 1 if alert.kind == Kind.DAYS else alert.level * REARM_TENTHS // 10
    return now >= margin


def _outlooks(companies: set[int]) -> dict[int, BalanceOutlook]:
    wallets = Wallet.objects.filter(company__in=companies)
    today = timezone.localdate()
    days = SpentDay.objects.filter(
        company__in=companies, day__gte=today - timedelta(days=PACE_DAYS), day__lt=today
    )
    spent = dict(days.values_list("company_id").annotate(Sum("tokens")))
    return {
        company_id: BalanceOutlook(available, _days(available, spent.get(company_id, 0)))
        for company_id, available in wallets.values_list("company_id", "available")
    }


def days_left(company: Company) -> int | None:
    """The days that the balance lasts at the pace of the last week; None if nothing was spent."""
    outlook = _outlooks({company.pk}).get(company.pk)
    return outlook.days if outlook else None


def _days(available: int, spent: int) -> int | None:
    return max(available, 0) * PACE_DAYS // spent if spent else None


@transaction.atomic
def _post_alert(alert_id: int, now: int, *, since: datetime | None = None) -> bool:
    """Posts the alert unless it was sent before, or not since `since`; returns whether it did.

    The alert is locked: only one of parallel sweeps sends it.
    """
    rows = BalanceAlert.objects.select_for_update(of=("self",)).select_related("company")
    unposted = Q(notified_at=None) | Q(notified_at__lt=since) if since else Q(notified_at=None)
    alert = rows.filter(unposted, pk=alert_id).first()
    if alert is None:
        return False
    alert.notified_at = timezone.now()
    alert.save(update_fields=["notified_at"])
    notifications.notify_balance_alert(alert, now=now, at=alert.notified_at)
    return True


@transaction.atomic
def add(*, company: Company, kind: str, level: int, user: User, ip: str | None = None) -> None:
    """Adds an alert; an existing one stays unchanged. Raises `invalid_input` for `level`.

    An alert added again within a day after its e-mail waits until its level was left.
    """
    Company.objects.select_for_update(no_key=True).get(pk=company.pk)
    alerts = BalanceAlert.objects.filter(company=company)
    if alerts.filter(kind=kind, level=level).exists():
        return
    if alerts.count() >= MAX_ALERTS:
        raise DomainError(Error.INVALID_INPUT, errors={"level": [TOO_MANY]})
    alert = BalanceAlert(company=company, kind=kind, level=level)
    notified_at = notifications.last_notified(alert)
    if notified_at and notified_at > timezone.now() - timedelta(days=1):
        alert.notified_at = notified_at
    alert.save(force_insert=True)
    record("balance_alert.added", f"{kind} {level}", company=company, user=user, ip=ip)


@transaction.atomic
def remove(*, alert: BalanceAlert, user: User, ip: str | None = None) -> None:
    deleted, _rows = BalanceAlert.objects.filter(pk=alert.pk).delete()
    if deleted:
        record("balance_alert.removed", alert, company=alert.company, user=user, ip=ip)


SHARES = Job("budget_shares", _("companies' own alerts about budgets"))
WARNINGS = Job("budget_warnings", _("e-mails about budgets"))

# Wallets with usage today.
_COMPANIES_SPENDING_TODAY = f"""
SELECT wallet.company_id FROM billing_wallet wallet, ({sql.PERIOD}) AS period
WHERE wallet.day >= period.today AND wallet.day_tokens > 0
"""  # noqa: S608


def sweep_budgets() -> int:
    """Notifies of budgets and key limits that are nearly used up; returns the number of e-mails."""
    companies = fetch_column(_COMPANIES_SPENDING_TODAY, {"time_zone": settings.TIME_ZONE})
    alerts = BalanceAlert.objects.filter(kind=BalanceAlert.Kind.BUDGET, company__in=companies)
    mailed = sum(SHARES.each(alerts.select_related("company").order_by("pk"), _notify_share))
    return mailed + sum(WARNINGS.each(companies, _warn))


def _warn(company_id: int) -> int:
    return sum(_notify(company_id, use) for use in _nearly_used(company_id))


def _notify_share(alert: BalanceAlert) -> bool:
    """Notifies of a share of the day's budget that the company chose, once a day."""
    day = next(use for use in budgets.usage(alert.company_id, []) if not use.country)
    if not day.tokens or day.percent < alert.level:
        return False
    today = timezone.localdate(day.resets_at - timedelta(seconds=1))
    return _post_alert(alert.pk, day.percent, since=start_of(today))


def _nearly_used(company_id: int) -> Iterator[BudgetUsage | KeyUsage]:
    uses: list[BudgetUsage | KeyUsage] = [*budgets.usage(company_id, [])]
    uses += key_limits.usage(company_id)
    for use in uses:
        if use.tokens and use.percent >= settings.BUDGET_WARNING:
            yield use


@transaction.atomic
def _notify(company_id: int, use: BudgetUsage | KeyUsage) -> bool:
    """Writes the e-mail; its key has the budget and the period, so parallel sweeps write one."""
    subject = use.country if isinstance(use, BudgetUsage) else f"key-{use.key_id}"
    key = f"budget:{company_id}:{subject}:{use.resets_at.timestamp():.0f}"
    if Mail.objects.filter(key__startswith=f"{key}:").exists():
        return False
    mail.post_to_members(
        company=Company.objects.get(pk=company_id),
        roles=[Member.Role.OWNER],
        template="budget_nearly_used",
        context={"use": use, "url": f"{settings.PUBLIC_URL}/cabinet/settings/budgets"},
        kind=mail.NoticeKind.BALANCE,
        key=key,
    )
    return True
