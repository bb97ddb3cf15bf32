"""A company's own alerts: so many tokens left, so many days at the pace of the last week.

A sweep does this, never the send. Alerts about a share of the day's budget go with the other
letters about budgets (`billing.budgets.mail`).
"""

from datetime import timedelta
from typing import NamedTuple

from django.db import transaction
from django.db.models import Sum
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.audit.events import record
from accounts.jobs import Job
from accounts.models import Company, User
from billing import notifications
from billing.models import BalanceAlert, SpentDay, Wallet
from billing.wallet.low_balance import REARM_TENTHS
from config.errors import DomainError, Error

JOB = Job("balance_alerts", _("companies' own alerts"))
Kind = BalanceAlert.Kind
MOST = 10  # of a company
PACE_DAYS = 7
LONGEST_DAYS = 90


class Standing(NamedTuple):
    """Where a company's balance stands now."""

    available: int
    days: int | None  # None: nothing was spent, so it lasts for ever

    def of(self, kind: str) -> int | None:
        return self.available if kind == Kind.TOKENS else self.days


def sweep() -> int:
    """Returns how many alerts were told."""
    watched = BalanceAlert.objects.filter(kind__in=(Kind.TOKENS, Kind.DAYS))
    watched = watched.exclude(company__status=Company.Status.SUSPENDED)
    standings = _standings(set(watched.values_list("company_id", flat=True)))
    ordered = watched.order_by("company_id", "kind", "-level")
    return sum(JOB.each(ordered, lambda alert: _look(alert, standings.get(alert.company_id))))


def _look(alert: BalanceAlert, standing: Standing | None) -> bool:
    """Whether the alert was told."""
    if standing is None:
        return False
    now = standing.of(alert.kind)
    if alert.notified_at is None and now is not None and now < alert.level:
        return _tell(alert.pk, now)
    if alert.notified_at is not None and _is_left(alert, now):
        BalanceAlert.objects.filter(pk=alert.pk).update(notified_at=None)
    return False


def _is_left(alert: BalanceAlert, now: int | None) -> bool:
    """A balance that comes and goes around the level must not tell again and again."""
    if now is None:
        return True
    margin = alert.level + 1 if alert.kind == Kind.DAYS else alert.level * REARM_TENTHS // 10
    return now >= margin


def _standings(companies: set[int]) -> dict[int, Standing]:
    wallets = Wallet.objects.filter(company__in=companies)
    today = timezone.localdate()
    days = SpentDay.objects.filter(
        company__in=companies, day__gte=today - timedelta(days=PACE_DAYS), day__lt=today
    )
    spent = dict(days.values_list("company_id").annotate(Sum("tokens")))
    return {
        company_id: Standing(available, _days(available, spent.get(company_id, 0)))
        for company_id, available in wallets.values_list("company_id", "available")
    }


def days_left(company: Company) -> int | None:
    """How long the balance lasts at the pace of the last week; None if nothing was spent."""
    standing = _standings({company.pk}).get(company.pk)
    return standing.days if standing else None


def _days(available: int, spent: int) -> int | None:
    return max(available, 0) * PACE_DAYS // spent if spent else None


@transaction.atomic
def _tell(alert_id: int, now: int) -> bool:
    """The alert's row is the lock: only one of parallel sweeps tells."""
    rows = BalanceAlert.objects.select_for_update(of=("self",)).select_related("company")
    alert = rows.filter(pk=alert_id, notified_at=None).first()
    if alert is None:
        return False
    alert.notified_at = timezone.now()
    alert.save(update_fields=["notified_at"])
    notifications.notify_balance_alert(alert, now=now, at=alert.notified_at)
    return True


# --- What owners and accountants choose ---


@transaction.atomic
def add(*, company: Company, kind: str, level: int, user: User, ip: str | None = None) -> None:
    """An alert that is there already stays as it is. Raises `invalid_input` about `level`."""
    Company.objects.select_for_update(no_key=True).get(pk=company.pk)
    own = BalanceAlert.objects.filter(company=company)
    if own.filter(kind=kind, level=level).exists():
        return
    if own.count() >= MOST:
        raise DomainError(Error.INVALID_INPUT, errors={"level": [TOO_MANY]})
    BalanceAlert.objects.create(company=company, kind=kind, level=level)
    record("balance_alert.added", f"{kind} {level}", company=company, user=user, ip=ip)


@transaction.atomic
def remove(*, alert: BalanceAlert, user: User, ip: str | None = None) -> None:
    deleted, _rows = BalanceAlert.objects.filter(pk=alert.pk).delete()
    if deleted:
        record("balance_alert.removed", alert, company=alert.company, user=user, ip=ip)


TOO_MANY = _("A company can have up to 10 more alerts: remove one first.")
