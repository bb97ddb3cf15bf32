"""Declarations of the payment gateways: pure data, which the settings read.

The class of each is in the module of its name in this folder.
"""

import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Any

from django.utils.translation import gettext_lazy as _

from catalogue.account_options import Option, boolean, comma_separated
from catalogue.texts import StrOrPromise


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredGateway:
    name: str
    class_name: str
    title: StrOrPromise
    note: StrOrPromise  # text for the payer, below the title
    options: tuple[Option, ...] = ()
    url: str = ""  # base URL of the provider's API
    hook: str = ""  # the path of its webhooks under /hooks/
    is_demo: bool = False  # takes no money: production does not start with it
    check: Callable[[Mapping[str, Any]], str] = lambda _options: ""  # the fault, or ""

    @property
    def prefix(self) -> str:
        """The prefix of its variable names."""
        return self.name.upper()


def _bank_account(text: str) -> str:
    if text and not re.fullmatch(r"[0-9]{20}|[0-9]{22}", text):
        raise ValueError("must have 20 or 22 digits")
    return text


def _statement_fault(options: Mapping[str, Any]) -> str:
    has_account = options["token"] and options["account"]
    needs = "TBANK_STATEMENT needs TBANK_TOKEN and TBANK_ACCOUNT"
    return needs if options["has_statement"] and not has_account else ""


def _networks(text: str) -> tuple[str, ...]:
    return tuple(str(ip_network(network)) for network in comma_separated(text))


# https://yookassa.ru/developers/using-api/webhooks: addresses that send its webhooks.
_YOOKASSA = (
    "185.71.76.0/27,185.71.77.0/27,77.75.153.0/25,77.75.154.128/25,77.75.156.11/32,"
    "77.75.156.35/32,2a02:5180::/32"
)
_ON_ITS_PAGE = _("You pay on the provider's page; tokens are added at once.")
_DECLARED = (
    DeclaredGateway(
        name="invoice",
        class_name="Invoice",
        title=_("Bank invoice"),
        note=_("Tokens are added when the bank transfer arrives, usually the next working day."),
    ),
    DeclaredGateway(
        name="sandbox",
        class_name="Sandbox",
        title=_("Demo payment"),
        note=_("Test payment, nothing is charged."),
        hook="sandbox-gateway",
        is_demo=True,
    ),
    DeclaredGateway(
        name="stripe",
        class_name="Stripe",
        title=_("Card (Stripe)"),
        note=_ON_ITS_PAGE,
        url="https://api.stripe.com",
        hook="stripe",
        options=(
            Option("secret_key", simulated=lambda: f"sk_test_{secrets.token_hex(16)}"),
            Option("webhook_secret", simulated=lambda: f"whsec_{secrets.token_hex(16)}"),
        ),
    ),
    DeclaredGateway(
        name="tbank",
        class_name="TBank",
        title=_("SBP for companies (T-Bank)"),
        note=_(
            "By a link or QR code, from the company's account at any bank; tokens are added at "
            "once."
        ),
        url="https://business.tbank.ru/openapi",
        hook="tbank",
        check=_statement_fault,
        options=(
            Option("token", simulated=lambda: f"t.{secrets.token_urlsafe(32)}"),
            Option(
                "account",
                read=_bank_account,
                simulated=lambda: f"40702810{secrets.randbelow(9 * 10**11) + 10**11}",
            ),
            Option("webhook_secret", simulated=lambda: secrets.token_urlsafe(24)),
            Option(
                "has_statement",
                variable="STATEMENT",
                read=boolean,
                is_required=False,
                simulated="1",
            ),
        ),
    ),
    DeclaredGateway(
        name="yookassa",
        class_name="YooKassa",
        title=_("Card or SBP (YooKassa)"),
        note=_ON_ITS_PAGE,
        url="https://api.yookassa.ru",
        hook="yookassa",
        options=(
            Option("shop_id", simulated=lambda: str(secrets.randbelow(900_000) + 100_000)),
            Option("secret_key", simulated=lambda: f"test_{secrets.token_urlsafe(24)}"),
            Option(
                "networks",
                default=_YOOKASSA,
                read=_networks,
                is_required=False,
                simulated="127.0.0.0/8,::1/128",
            ),
            Option("has_receipts", variable="RECEIPTS", read=boolean, is_required=False),
        ),
    ),
)
GATEWAYS = {gateway.name: gateway for gateway in _DECLARED}
