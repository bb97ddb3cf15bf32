"""Checks of the books and of payment providers."""

from datetime import UTC, timedelta

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Company
from billing.gateways import registry
from billing.gateways.base import GatewayError
from billing.models import SealedDay, StatementMark, Transfer
from channels import reconciliation
from operator_admin.doctor.finding import Finding, failed, finding, passed

SEALED_AFTER = 2  # days


def ledger() -> Finding:
    """Checks the last two hours and everything open; `reconcile` checks everything."""
    breaches = list(reconciliation.breaches(recent=True))
    detail = "; ".join(f"{breach.check}: {breach.subject}" for breach in breaches[:3])
    if len(breaches) > 3:
        detail += _("; and {count} more").format(count=len(breaches) - 3)
    remedy = _(
        "Run: python manage.py reconcile for the whole list. Do not change rows by hand: "
        "see “The ledger is inconsistent” in docs/operations/failures.md."
    )
    return finding("ledger", detail or _("no recent breach"), remedy, ok=not breaches)


def seals() -> Finding:
    """Checks that days are sealed: yesterday today, once no transaction of it is open."""
    last = SealedDay.last()
    ago = timezone.now() - timedelta(days=SEALED_AFTER)
    detail = (
        _("transfers are sealed to {last}").format(last=last)
        if last
        else _("no transfer is sealed yet")
    )
    remedy = _(
        "See `beat` and `worker`. Look in pg_stat_activity for a transaction that has been "
        "open since that day, or whose start the application's role may not see."
    )
    is_new = not (Transfer.objects.exists() and Company.objects.filter(created_at__lt=ago).exists())
    ok = last >= ago.astimezone(UTC).date() if last else is_new
    return finding("seals", detail, remedy, ok=ok)


STATEMENT_AGE = timedelta(minutes=30)
STATEMENT_REMEDY = gettext_lazy(
    "Compare TBANK_TOKEN and TBANK_ACCOUNT with the bank's cabinet: the token needs "
    "the right to read operations, and our address its list; see that beat runs. "
    "Nothing is lost meanwhile: what was not read is read later."
)


def gateway_credentials() -> list[Finding]:
    """Calls each provider with its credentials, which changes nothing there."""
    return [_check(name) for name in registry.pollable()]


def bank_statement() -> list[Finding]:
    """Checks the last reading of the bank account's statement, if the service reads it."""
    if not settings.GATEWAY_ACCOUNTS["tbank"]["has_statement"]:
        return []
    account = settings.GATEWAY_ACCOUNTS["tbank"]["account"]
    title = "bank statement"
    row = StatementMark.objects.filter(account=account).first()
    if row is not None and row.error:
        return [failed(title, row.error, STATEMENT_REMEDY)]
    if row is None or row.read_at is None or row.read_at < timezone.now() - STATEMENT_AGE:
        return [failed(title, _("not read for half an hour"), STATEMENT_REMEDY)]
    return [passed(title, _("read at {read_at:%Y-%m-%d %H:%M} UTC").format(read_at=row.read_at))]


def _check(name: str) -> Finding:
    gateway = registry.find(name)
    assert gateway is not None  # noqa: S101 - `pollable` names those that are enabled
    title = f"payments by {name}"
    try:
        gateway.check_credentials()
    except GatewayError as error:
        remedy = _(
            "Compare the {prefix}_… variables with the provider's cabinet, or take {name} out "
            "of PAYMENT_GATEWAYS: until then nobody can pay with it."
        ).format(prefix=name.upper(), name=name)
        return failed(title, str(error), remedy)
    return passed(
        title, _("notices come to {url}/hooks/{name}").format(url=settings.PUBLIC_URL, name=name)
    )
