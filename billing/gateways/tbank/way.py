"""T-Bank: what payers read, and the options of an account."""

import re
import secrets
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from billing.gateways.declaration import DeclaredGateway
from catalogue.options import Option, boolean


def _bank_account(text: str) -> str:
    if text and not re.fullmatch(r"[0-9]{20}|[0-9]{22}", text):
        raise ValueError("must have 20 or 22 digits")
    return text


def _statement_fault(options: Mapping[str, Any]) -> str:
    has_account = options["token"] and options["account"]
    needs = "TBANK_STATEMENT needs TBANK_TOKEN and TBANK_ACCOUNT"
    return needs if options["has_statement"] and not has_account else ""


GATEWAY = DeclaredGateway(
    title=_("SBP for companies (T-Bank)"),
    note=_(
        "By a link or QR code, from the company's account at any bank; tokens are added at once."
    ),
    class_name="TBank",
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
)
