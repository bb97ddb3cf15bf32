"""The demo's way to pay."""

from django.utils.translation import gettext_lazy as _

from billing.gateways.declaration import DeclaredGateway

GATEWAY = DeclaredGateway(
    name="sandbox",
    title=_("Demo payment"),
    note=_("Test payment, nothing is charged."),
    gateway="Sandbox",
    position=20,
    hook="sandbox-gateway",
)
