"""Stripe: what payers read, and the options of an account."""

import secrets

from django.utils.translation import gettext_lazy as _

from billing.gateways.declaration import DeclaredGateway
from catalogue.options import Option

GATEWAY = DeclaredGateway(
    title=_("Card (Stripe)"),
    note=_("You pay on the provider's page; tokens are added at once."),
    class_name="Stripe",
    url="https://api.stripe.com",
    hook="stripe",
    options=(
        Option("secret_key", simulated=lambda: f"sk_test_{secrets.token_hex(16)}"),
        Option("webhook_secret", simulated=lambda: f"whsec_{secrets.token_hex(16)}"),
    ),
)
