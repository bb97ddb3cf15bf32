"""Checks of the accounts at payment providers."""

from datetime import timedelta

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from billing.gateways import registry
from billing.gateways.base import GatewayError
from billing.models import StatementMark
from operator_admin.doctor.finding import Finding, failed, passed

STATEMENT_AGE = timedelta(minutes=30)
STATEMENT_CURE = gettext_lazy(
    "Compare TBANK_TOKEN and TBANK_ACCOUNT with the bank's cabinet: the token needs "
    "the right to read operations, and our address its list; see that beat runs. "
    "Nothing is lost meanwhile: what was not read is read later."
)


def credentials() -> list[Finding]:
    """Calls each provider by its credentials, which changes nothing there."""
    return [_check(name) for name in registry.askable()]


def statement() -> list[Finding]:
    """Says when the bank account's statement was last read, if it is read at all."""
    if not settings.GATEWAY_ACCOUNTS["tbank"]["has_statement"]:
        return []
    title, mark = "bank statement", StatementMark.objects.first()
    if mark is not None and mark.error:
        return [failed(title, mark.error, STATEMENT_CURE)]
    if mark is None or mark.read_at is None or mark.read_at < timezone.now() - STATEMENT_AGE:
        return [failed(title, _("not read for half an hour"), STATEMENT_CURE)]
    return [passed(title, _("read at {read_at:%Y-%m-%d %H:%M} UTC").format(read_at=mark.read_at))]


def _check(name: str) -> Finding:
    gateway = registry.find(name)
    assert gateway is not None  # noqa: S101 - `askable` names those that are enabled
    title = f"payments by {name}"
    try:
        gateway.check_credentials()
    except GatewayError as error:
        cure = _(
            "Compare the {prefix}_… variables with the provider's cabinet, or take {name} out "
            "of PAYMENT_GATEWAYS: until then nobody can pay by it."
        ).format(prefix=name.upper(), name=name)
        return failed(title, str(error), cure)
    return passed(
        title, _("notices come to {url}/hooks/{name}").format(url=settings.PUBLIC_URL, name=name)
    )
