"""The bank invoice: what payers read, and the options of an account."""

from django.utils.translation import gettext_lazy as _

from billing.gateways.declaration import DeclaredGateway

GATEWAY = DeclaredGateway(
    title=_("Bank invoice"),
    note=_("Tokens are added when the bank transfer arrives, usually the next working day."),
    class_name="Invoice",
)
