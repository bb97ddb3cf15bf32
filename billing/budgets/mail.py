"""Mails owners when a budget or a key's limit is nearly used, once per budget and period.

A sweep does this, never the send.
"""

from collections.abc import Iterator

from django.conf import settings
from django.db import connection, transaction

from accounts.models import Company, Mail, Member
from accounts.outbox import mail
from billing.budgets import budgets, key_limits, sql
from billing.budgets.key_limits import KeyUsage
from billing.budgets.usage import BudgetUsage

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
    return sum(
        _notify(company_id, use) for company_id in companies for use in _nearly_used(company_id)
    )


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
