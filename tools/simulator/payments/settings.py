"""The accounts at payment providers, from the same environment as the service."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PaymentSettings:
    stripe_secret_key: str = ""
    stripe_webhook_secret: str = ""
    yookassa_shop_id: str = ""
    yookassa_secret_key: str = ""
    tbank_token: str = ""
    tbank_account: str = ""
    tbank_webhook_secret: str = ""


def read_payment_settings(env: Mapping[str, str]) -> PaymentSettings:
    names = PaymentSettings.__dataclass_fields__
    return PaymentSettings(**{name: env.get(name.upper(), "") for name in names})
