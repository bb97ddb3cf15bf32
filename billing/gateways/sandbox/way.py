"""The demo payment: what payers read, and the options of an account."""

from django.utils.translation import gettext_lazy as _

from billing.gateways.declaration import DeclaredGateway

GATEWAY = DeclaredGateway(
    title=_("Demo payment"),
    note=_("Test payment, nothing is charged."),
    class_name="Sandbox",
    hook="sandbox-gateway",
    is_demo=True,
)
