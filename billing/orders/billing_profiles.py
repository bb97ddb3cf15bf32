"""A company's requisites, and when it wants to hear that tokens run out."""

from collections.abc import Mapping

from django.db import transaction

from accounts.audit.events import record
from accounts.models import Company, User
from billing.models import BillingProfile
from billing.orders import invoices


def for_company(company: Company) -> BillingProfile:
    """As it is, or as it begins: a company without a row has the defaults."""
    found = BillingProfile.objects.filter(company=company).first() or BillingProfile()
    found.company = company
    return found


@transaction.atomic
def change(
    *, company: Company, user: User, changes: Mapping[str, object], ip: str | None = None
) -> list[str]:
    """Write what differs; invoices that wait for payment follow. The changed fields come back."""
    BillingProfile.objects.get_or_create(company=company)
    stored = BillingProfile.objects.select_for_update().get(company=company)
    changed = [name for name, value in changes.items() if getattr(stored, name) != value]
    if not changed:
        return []
    for name in changed:
        setattr(stored, name, changes[name])
    if "low_balance" in changed:
        stored.told_at = None  # what was told of another threshold says nothing of this one
    stored.save(update_fields=[*changed, "told_at"])
    record("billing.changed", ", ".join(changed), company=company, user=user, ip=ip)
    invoices.update_open_invoices(company)
    return changed
