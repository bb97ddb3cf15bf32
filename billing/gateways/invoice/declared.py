"""The bank invoice as a way to pay."""

from django.utils.translation import gettext_lazy as _

from billing.gateways.declaration import DeclaredGateway

GATEWAY = DeclaredGateway(
    name="invoice",
    title=_("Bank invoice"),
    note=_("Tokens are added when the bank transfer arrives, usually the next working day."),
    gateway="Invoice",
    position=10,
)
