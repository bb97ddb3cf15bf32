"""The planned deletion of a company: request, cancellation, an earlier time, and warnings.

The company's row is the lock: of concurrent decisions, by people or the task that deletes, the
second sees the first. The deletion itself concerns every package: `persons.company_deletion`.
"""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.functional import lazy
from django.utils.translation import gettext_lazy as _

from accounts.audit import acts_as_operator, changes_between, record
from accounts.jobs import Job
from accounts.models import Company, User
from accounts.security.notifications import name_for, post_to_owners

JOB = Job("closing_warnings", _("warnings before a deletion"))
GRACE_PERIOD = timedelta(days=30)
WARNING_PERIOD = timedelta(days=7)


def _day_of(at: datetime | None) -> str:
    return "" if at is None else date_format(timezone.localtime(at), "j E Y")


_day = lazy(_day_of, str)  # in the language of each reader


@transaction.atomic
def request(*, company: Company, user: User, ip: str | None = None) -> bool:
    """Plans the deletion; False if one is planned already, whose day stays the same."""
    stored = _lock(company)
    if stored.closes_at is not None:
        return False
    _set(stored, timezone.now() + GRACE_PERIOD, "company.closing", user, ip)
    _post("company.closing", stored, ip=ip, who=user.email)
    return True


@transaction.atomic
def call_off(*, company: Company, user: User, ip: str | None = None) -> bool:
    """Cancels the planned deletion; False if none is planned, or it is too late."""
    stored = _lock(company)
    if not stored.is_closing:
        return False
    _set(stored, None, "company.kept", user, ip)
    seen_ip = None if acts_as_operator(user, stored) else ip
    post_to_owners("company.kept", company=stored, ip=seen_ip, who=name_for(stored, user))
    return True


@transaction.atomic
def bring_forward(*, company: Company, at: datetime, user: User, ip: str | None = None) -> bool:
    """Moves the deletion to an earlier time, by the operator; False if no later one is planned."""
    stored = _lock(company)
    if not stored.is_closing or stored.closes_at is None or stored.closes_at <= at:
        return False
    _set(stored, at, "company.hastened", user, ip)
    # With so little time left this e-mail is the last warning.
    is_warning = at <= timezone.now() + WARNING_PERIOD
    _post("company.hastened", stored, key=_key(stored.pk, at) if is_warning else "")
    return True


def warn() -> int:
    """Posts the last warning, once for each planned time of a company's deletion."""
    now = timezone.now()
    due = Company.objects.closing().filter(closes_at__gt=now, closes_at__lte=now + WARNING_PERIOD)
    return len(JOB.each(due, _warn))


@transaction.atomic
def _warn(company: Company) -> None:
    stored = _lock(company)
    if stored.closes_at != company.closes_at or not stored.is_closing or stored.closes_at is None:
        return
    _post("company.closes_soon", stored, key=_key(stored.pk, stored.closes_at))


def _key(company_id: int, closes_at: datetime) -> str:
    return f"closes:{company_id}:{closes_at.isoformat()}"


def _lock(company: Company) -> Company:
    return Company.objects.select_for_update(no_key=True).get(pk=company.pk)


def _set(
    company: Company, closes_at: datetime | None, action: str, user: User, ip: str | None
) -> None:
    days = changes_between({"closes_at": company.closes_at}, {"closes_at": closes_at})
    company.closes_at = closes_at
    company.save(update_fields=["closes_at"])
    record(action, company, company=company, user=user, ip=ip, changes=days)


def _post(
    kind: str, company: Company, *, ip: str | None = None, key: str = "", who: str = ""
) -> None:
    post_to_owners(
        kind,
        company=company,
        ip=ip,
        key=key or None,
        who=who,
        day=_day(company.closes_at),
        page=settings.PUBLIC_URL + reverse("overview"),
    )
