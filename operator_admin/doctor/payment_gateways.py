"""Checks of the accounts at payment providers."""

from django.conf import settings

from billing.gateways import registry
from billing.gateways.base import GatewayError
from operator_admin.doctor.finding import Finding, failed, passed


def credentials() -> list[Finding]:
    """Calls each provider by its credentials, which changes nothing there."""
    return [_check(name) for name in registry.askable()]


def _check(name: str) -> Finding:
    gateway = registry.find(name)
    assert gateway is not None  # noqa: S101 - `askable` names those that are enabled
    title = f"payments by {name}"
    try:
        gateway.check_credentials()
    except GatewayError as error:
        cure = (
            f"Compare the {name.upper()}_… variables with the provider's cabinet, or take {name} "
            "out of PAYMENT_GATEWAYS: until then nobody can pay by it."
        )
        return failed(title, str(error), cure)
    return passed(title, f"notices come to {settings.PUBLIC_URL}/hooks/{name}")
