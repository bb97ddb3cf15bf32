"""A company's billing details and its low-balance threshold."""

from collections.abc import Mapping

from django.db import transaction

from accounts.audit import changes_of, record
from accounts.models import Company, User
from billing.models import BillingProfile
from billing.orders import invoices


def is_changed(company: Company, values: Mapping[str, object]) -> bool:
    stored = BillingProfile.for_company(company)
    return any(getattr(stored, name) != value for name, value in values.items())


@transaction.atomic
def change(
    *, company: Company, user: User, changes: Mapping[str, object], ip: str | None = None
) -> list[str]:
    """Saves changed fields and updates open invoices; returns the names of the changed fields."""
    BillingProfile.objects.get_or_create(company=company)
    stored = BillingProfile.objects.select_for_update().get(company=company)
    changed = [name for name, value in changes.items() if getattr(stored, name) != value]
    if not changed:
        return []
    values = changes_of(stored, changes)
    for name in changed:
        setattr(stored, name, changes[name])
    if "low_balance" in changed:
        stored.low_balance_notified_at = None  # the last e-mail was about another threshold
    stored.save(update_fields=[*changed, "low_balance_notified_at"])
    subject = ", ".join(changed)
    record("billing.changed", subject, company=company, user=user, ip=ip, changes=values)
    invoices.update_open_invoices(company)
    return changed
