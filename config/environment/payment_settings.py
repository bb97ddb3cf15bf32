"""The ways to pay, and the accounts at payment providers."""

import re
from ipaddress import ip_network

from django.core.exceptions import ImproperlyConfigured

from config.environment.proxies import for_account
from config.environment.variables import env

__all__ = [
    "PAYMENT_GATEWAYS",
    "PAYMENT_PROXY",
    "STRIPE_SECRET_KEY",
    "STRIPE_URL",
    "STRIPE_WEBHOOK_SECRET",
    "TBANK_ACCOUNT",
    "TBANK_STATEMENT",
    "TBANK_TOKEN",
    "TBANK_URL",
    "TBANK_WEBHOOK_SECRET",
    "YOOKASSA_NETWORKS",
    "YOOKASSA_RECEIPTS",
    "YOOKASSA_SECRET_KEY",
    "YOOKASSA_SHOP_ID",
    "YOOKASSA_URL",
]

# What each needs; without it the service does not start.
NEEDED = {
    "invoice": (),
    "sandbox": (),
    "tbank": ("TBANK_TOKEN", "TBANK_ACCOUNT", "TBANK_WEBHOOK_SECRET"),
    "stripe": ("STRIPE_SECRET_KEY", "STRIPE_WEBHOOK_SECRET"),
    "yookassa": ("YOOKASSA_SHOP_ID", "YOOKASSA_SECRET_KEY"),
}
# https://yookassa.ru/developers/using-api/webhooks: where its notices come from.
YOOKASSA_PUBLISHED = (
    "185.71.76.0/27,185.71.77.0/27,77.75.153.0/25,77.75.154.128/25,77.75.156.11/32,"
    "77.75.156.35/32,2a02:5180::/32"
)


def _networks(text: str) -> tuple[str, ...]:
    try:
        return tuple(str(ip_network(item.strip())) for item in text.split(",") if item.strip())
    except ValueError as error:
        raise ImproperlyConfigured(f"YOOKASSA_NETWORKS: {error}") from None


_PRODUCTION = env.str("ENVIRONMENT", "production") == "production"
PAYMENT_GATEWAYS: list[str] = env.list(
    "PAYMENT_GATEWAYS", ["invoice"] if _PRODUCTION else ["invoice", "sandbox"]
)
PAYMENT_PROXY = for_account(env.str("PAYMENT_PROXY", ""), "PAYMENT_PROXY")
STRIPE_URL = env.str("STRIPE_URL", "") or "https://api.stripe.com"
STRIPE_SECRET_KEY = env.str("STRIPE_SECRET_KEY", "")
STRIPE_WEBHOOK_SECRET = env.str("STRIPE_WEBHOOK_SECRET", "")
TBANK_URL = env.str("TBANK_URL", "") or "https://business.tbank.ru/openapi"
TBANK_TOKEN = env.str("TBANK_TOKEN", "")
TBANK_ACCOUNT = env.str("TBANK_ACCOUNT", "")
TBANK_WEBHOOK_SECRET = env.str("TBANK_WEBHOOK_SECRET", "")
TBANK_STATEMENT = env.bool("TBANK_STATEMENT", False)
YOOKASSA_URL = env.str("YOOKASSA_URL", "") or "https://api.yookassa.ru"
YOOKASSA_SHOP_ID = env.str("YOOKASSA_SHOP_ID", "")
YOOKASSA_SECRET_KEY = env.str("YOOKASSA_SECRET_KEY", "")
YOOKASSA_NETWORKS = _networks(env.str("YOOKASSA_NETWORKS", "") or YOOKASSA_PUBLISHED)
YOOKASSA_RECEIPTS = env.bool("YOOKASSA_RECEIPTS", False)

if _unknown := set(PAYMENT_GATEWAYS) - NEEDED.keys():
    raise ImproperlyConfigured(f"PAYMENT_GATEWAYS: no such gateway: {', '.join(sorted(_unknown))}")
for _name in PAYMENT_GATEWAYS:
    for _variable in NEEDED[_name]:
        if not env.str(_variable, ""):
            raise ImproperlyConfigured(f"PAYMENT_GATEWAYS: {_name} needs {_variable}")
if TBANK_STATEMENT and not (TBANK_TOKEN and TBANK_ACCOUNT):
    raise ImproperlyConfigured("TBANK_STATEMENT needs TBANK_TOKEN and TBANK_ACCOUNT")
if TBANK_ACCOUNT and not (
    TBANK_ACCOUNT.isascii() and re.fullmatch(r"\d{20}|\d{22}", TBANK_ACCOUNT)
):
    raise ImproperlyConfigured("TBANK_ACCOUNT: an account has 20 or 22 digits")
_URLS = (STRIPE_URL, YOOKASSA_URL, TBANK_URL)
if _PRODUCTION and not all(url.startswith("https://") for url in _URLS):
    raise ImproperlyConfigured("STRIPE_URL, YOOKASSA_URL, TBANK_URL must be https in production")
