"""Mails owners when a budget or a key's limit is nearly used, once per budget and period.

A sweep does this, never the send.
"""

from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.jobs import Job
from accounts.models import Company, Mail, Member
from accounts.outbox import mail
from billing import notifications
from billing.budgets import budgets, key_limits, sql
from billing.budgets.key_limits import KeyUsage
from billing.budgets.sql import BudgetUsage
from billing.models import BalanceAlert

SHARES = Job("budget_shares", _("companies' own alerts about budgets"))
WARNINGS = Job("budget_warnings", _("e-mails about budgets"))

# Wallets with usage today.
_COMPANIES_SPENDING_TODAY = f"""
SELECT w.company_id FROM billing_wallet w, ({sql.PERIOD}) AS p
WHERE w.day >= p.today AND w.day_tokens > 0
"""  # noqa: S608


def sweep() -> int:
    """Returns how many e-mails were written."""
    with connection.cursor() as cursor:
        cursor.execute(_COMPANIES_SPENDING_TODAY, {"time_zone": settings.TIME_ZONE})
        companies = [company_id for (company_id,) in cursor.fetchall()]
    alerts = BalanceAlert.objects.filter(kind=BalanceAlert.Kind.BUDGET, company__in=companies)
    mailed = sum(SHARES.each(alerts.select_related("company").order_by("pk"), _tell_share))
    return mailed + sum(WARNINGS.each(companies, _warn))


def _warn(company_id: int) -> int:
    return sum(_notify(company_id, use) for use in _nearly_used(company_id))


@transaction.atomic
def _tell_share(alert: BalanceAlert) -> bool:
    """A share of the day's budget that the company chose; once a day, told under the row's lock."""
    day = next(use for use in budgets.usage(alert.company_id, []) if not use.country)
    if not day.tokens or day.percent < alert.level:
        return False
    began = day.resets_at - timedelta(days=1)
    rows = BalanceAlert.objects.select_for_update(of=("self",)).select_related("company")
    unsaid = Q(notified_at=None) | Q(notified_at__lt=began)
    locked = rows.filter(unsaid, pk=alert.pk).first()
    if locked is None:
        return False
    locked.notified_at = timezone.now()
    locked.save(update_fields=["notified_at"])
    notifications.notify_balance_alert(locked, now=day.percent, at=locked.notified_at)
    return True


def _nearly_used(company_id: int) -> Iterator[BudgetUsage | KeyUsage]:
    uses: list[BudgetUsage | KeyUsage] = [*budgets.usage(company_id, [])]
    uses += key_limits.usage(company_id)
    for use in uses:
        if use.tokens and use.percent >= settings.BUDGET_WARNING:
            yield use


@transaction.atomic
def _notify(company_id: int, use: BudgetUsage | KeyUsage) -> bool:
    """The e-mail's key names budget and period, so only one of parallel sweeps writes it."""
    subject = use.country if isinstance(use, BudgetUsage) else f"key-{use.key_id}"
    key = f"budget:{company_id}:{subject}:{use.resets_at.timestamp():.0f}"
    if Mail.objects.filter(key__startswith=f"{key}:").exists():
        return False
    mail.post_to_members(
        company=Company.objects.get(pk=company_id),
        roles=[Member.Role.OWNER],
        template="budget_nearly_used",
        context={"use": use, "url": f"{settings.PUBLIC_URL}/cabinet/settings/budgets"},
        key=key,
    )
    return True
