"""Our accounts with vendors, from the environment: one without a token is not configured.

`TWILIO_…` is a vendor's first account. `TWILIO_ACCOUNTS=kz,uz` names further ones, each read from
variables of its own: `TWILIO_KZ_…`, `TWILIO_UZ_…`.
"""

import re
from collections.abc import Callable
from typing import Protocol

from django.core.exceptions import ImproperlyConfigured

from config.env import env as environment

Options = dict[str, str]
NAME = re.compile(r"[a-z][a-z0-9]{0,11}")


class Reads(Protocol):
    def str(self, variable: str, default: str, /) -> str: ...


class _Named:
    """Reads `TWILIO_KZ_TOKEN` when asked for `TWILIO_TOKEN`."""

    def __init__(self, vendor: str, account: str) -> None:
        self._first, self._own = f"{vendor}_", f"{vendor}_{account.upper()}_"

    def str(self, variable: str, default: str, /) -> str:
        own: str = environment.str(self._own + variable.removeprefix(self._first), default)
        return own


def _further(vendor: str, options: Callable[[Reads], Options]) -> dict[str, Options]:
    names = [one.strip() for one in environment.str(f"{vendor}_ACCOUNTS", "").split(",")]
    names = [name for name in names if name]
    if wrong := [name for name in names if not NAME.fullmatch(name)]:
        raise ImproperlyConfigured(
            f"{vendor}_ACCOUNTS: {wrong[0]!r} must be 1 to 12 lower-case letters and digits, "
            "a letter first"
        )
    if len(set(names)) < len(names):
        raise ImproperlyConfigured(f"{vendor}_ACCOUNTS names an account twice")
    return {name: options(_Named(vendor, name)) for name in names}


def _whatsapp(env: Reads) -> Options:
    return {
        "api_url": env.str("WHATSAPP_API_URL", "https://graph.facebook.com"),
        "version": env.str("WHATSAPP_API_VERSION", "v25.0"),
        "token": env.str("WHATSAPP_TOKEN", ""),
        "phone_number_id": env.str("WHATSAPP_PHONE_NUMBER_ID", ""),
        "app_secret": env.str("WHATSAPP_APP_SECRET", ""),
        "verify_token": env.str("WHATSAPP_VERIFY_TOKEN", ""),
        "code_template": env.str("WHATSAPP_CODE_TEMPLATE", "verification_code"),
        "link_template": env.str("WHATSAPP_LINK_TEMPLATE", "short_link"),
        "code_link_template": env.str("WHATSAPP_CODE_LINK_TEMPLATE", ""),
    }


def _telegram_gateway(env: Reads) -> Options:
    return {
        "api_url": env.str("TELEGRAM_GATEWAY_API_URL", "https://gatewayapi.telegram.org"),
        "token": env.str("TELEGRAM_GATEWAY_TOKEN", ""),
    }


def _telegram_bot(env: Reads) -> Options:
    return {
        "api_url": env.str("TELEGRAM_BOT_API_URL", "https://api.telegram.org"),
        "token": env.str("TELEGRAM_BOT_TOKEN", ""),
        "secret_token": env.str("TELEGRAM_BOT_SECRET", ""),
    }


def _twilio(env: Reads) -> Options:
    return {
        "api_url": env.str("TWILIO_API_URL", "https://api.twilio.com"),
        "account_sid": env.str("TWILIO_ACCOUNT_SID", ""),
        "auth_token": env.str("TWILIO_AUTH_TOKEN", ""),
        "sender": env.str("TWILIO_FROM", ""),
    }


WHATSAPP = _whatsapp(environment)
TELEGRAM_GATEWAY = _telegram_gateway(environment)
TELEGRAM_BOT = _telegram_bot(environment)
TWILIO = _twilio(environment)
# Not of the bot: a person shares their contact with one bot, and no other may write to them.
FURTHER_ACCOUNTS = {
    "WHATSAPP": _further("WHATSAPP", _whatsapp),
    "TELEGRAM_GATEWAY": _further("TELEGRAM_GATEWAY", _telegram_gateway),
    "TWILIO": _further("TWILIO", _twilio),
}
