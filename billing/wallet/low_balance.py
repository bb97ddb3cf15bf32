"""Notifies a company once when its balance is low, and again only after it has recovered.

A sweep does this, never the send: spending a token must not wait for a mail.
"""

from django.db import transaction
from django.db.models import BigIntegerField, F, Q
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.jobs import Job
from accounts.models import Company
from billing import notifications
from billing.models import BillingProfile, Wallet
from billing.models.party import DEFAULT_THRESHOLD

# Tenths of the threshold: holds that come and go around it must not notify repeatedly.
REARM_TENTHS = 11
JOB = Job("low_balance", _("letters about a low balance"))


def sweep() -> int:
    """Returns how many companies were notified."""
    rearm()
    return sum(JOB.each(_companies_below_threshold(), _notify))


def rearm() -> int:
    """Re-arms the notification of companies whose balance has recovered."""
    return (
        BillingProfile.objects.exclude(low_balance_notified_at=None)
        .annotate(enough=F("low_balance") * REARM_TENTHS / 10)
        .filter(Q(company__wallet__available__gte=F("enough")) | Q(low_balance=0))
        .update(low_balance_notified_at=None)
    )


def _companies_below_threshold() -> list[int]:
    threshold = Coalesce(
        "company__billingprofile__low_balance",
        DEFAULT_THRESHOLD,
        output_field=BigIntegerField(),
    )
    rows = (
        Wallet.objects.annotate(threshold=threshold)
        .filter(available__lt=F("threshold"), company__billingprofile__low_balance_notified_at=None)
        .exclude(company__status=Company.Status.SUSPENDED)
    )
    return list(rows.order_by("company_id").values_list("company_id", flat=True))


@transaction.atomic
def _notify(company_id: int) -> bool:
    """The profile's row is the lock: only one of parallel sweeps notifies."""
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
