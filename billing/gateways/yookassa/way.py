"""YooKassa: what payers read, and the options of an account."""

import secrets
from ipaddress import ip_network

from django.utils.translation import gettext_lazy as _

from billing.gateways.declaration import DeclaredGateway
from catalogue.options import Option, boolean, words

# https://yookassa.ru/developers/using-api/webhooks: where its notices come from.
PUBLISHED = (
    "185.71.76.0/27,185.71.77.0/27,77.75.153.0/25,77.75.154.128/25,77.75.156.11/32,"
    "77.75.156.35/32,2a02:5180::/32"
)


def _networks(text: str) -> tuple[str, ...]:
    return tuple(str(ip_network(item)) for item in words(text))


GATEWAY = DeclaredGateway(
    title=_("Card or SBP (YooKassa)"),
    note=_("You pay on the provider's page; tokens are added at once."),
    class_name="YooKassa",
    url="https://api.yookassa.ru",
    hook="yookassa",
    options=(
        Option("shop_id", simulated=lambda: str(secrets.randbelow(900_000) + 100_000)),
        Option("secret_key", simulated=lambda: f"test_{secrets.token_urlsafe(24)}"),
        Option(
            "networks",
            default=PUBLISHED,
            read=_networks,
            is_required=False,
            simulated="127.0.0.0/8,::1/128",
        ),
        Option("has_receipts", variable="RECEIPTS", read=boolean, is_required=False),
    ),
)
