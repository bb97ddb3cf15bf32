"""Vendor accounts from the environment; an account without a token is not configured.

`TWILIO_…` is a vendor's first account. `TWILIO_ACCOUNTS=kz,uz` names further ones, each with its
own variables: `TWILIO_KZ_…`, `TWILIO_UZ_…`.
"""

import re
from collections.abc import Callable
from typing import Any, Protocol

from django.core.exceptions import ImproperlyConfigured

from config.environment import proxies
from config.environment.variables import env as environment

Options = dict[str, Any]
ACCOUNT_NAME = re.compile(r"[a-z][a-z0-9]{0,11}")


class VariableReader(Protocol):
    def name(self, variable: str, /) -> str:
        """The variable's name for this account."""

    def str(self, variable: str, default: str, /) -> str: ...


class _FirstAccount:
    """The vendor's first account: variables without an account name."""

    def name(self, variable: str, /) -> str:
        return variable

    def str(self, variable: str, default: str, /) -> str:
        own: str = environment.str(variable, default)
        return own


class _FurtherAccount(_FirstAccount):
    """Reads `TWILIO_KZ_TOKEN` for `TWILIO_TOKEN`."""

    def __init__(self, vendor: str, account: str) -> None:
        self._first, self._own = f"{vendor}_", f"{vendor}_{account.upper()}_"

    def name(self, variable: str, /) -> str:
        return self._own + variable.removeprefix(self._first)

    def str(self, variable: str, default: str, /) -> str:
        return super().str(self.name(variable), default)


def _further_accounts(
    vendor: str, options: Callable[[VariableReader], Options]
) -> dict[str, Options]:
    names = [one.strip() for one in environment.str(f"{vendor}_ACCOUNTS", "").split(",")]
    names = [name for name in names if name]
    if wrong := [name for name in names if not ACCOUNT_NAME.fullmatch(name)]:
        raise ImproperlyConfigured(
            f"{vendor}_ACCOUNTS: {wrong[0]!r} must be 1 to 12 lower-case letters and digits, "
            "a letter first"
        )
    if len(set(names)) < len(names):
        raise ImproperlyConfigured(f"{vendor}_ACCOUNTS names an account twice")
    return {name: options(_FurtherAccount(vendor, name)) for name in names}


def _languages(text: str) -> dict[str, str]:
    """`ru:ru,en:en_US`: our locale → Meta's code; a template needs each language of ours."""
    pairs = (item.partition(":") for item in text.split(","))
    found = {locale.strip(): code.strip() for locale, _, code in pairs}
    if set(found) != {"ru", "en"} or not all(found.values()):
        raise ImproperlyConfigured(
            "WHATSAPP_LANGUAGES must name a template language for ru and for en: ru:ru,en:en_US"
        )
    return found


def _one_of(words: tuple[str, ...], value: str, name: str) -> str:
    value = value or words[0]
    if value not in words:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(words)}")
    return value


def _whatsapp(env: VariableReader) -> Options:
    return {
        "api_url": env.str("WHATSAPP_API_URL", "https://graph.facebook.com"),
        "version": env.str("WHATSAPP_API_VERSION", "v25.0"),
        "proxy": proxies.for_account(env.str("WHATSAPP_PROXY", ""), env.name("WHATSAPP_PROXY")),
        "token": env.str("WHATSAPP_TOKEN", ""),
        "phone_number_id": env.str("WHATSAPP_PHONE_NUMBER_ID", ""),
        "business_account_id": env.str("WHATSAPP_BUSINESS_ACCOUNT_ID", ""),
        "app_secret": env.str("WHATSAPP_APP_SECRET", ""),
        "verify_token": env.str("WHATSAPP_VERIFY_TOKEN", ""),
        "code_template": env.str("WHATSAPP_CODE_TEMPLATE", "verification_code"),
        "link_template": env.str("WHATSAPP_LINK_TEMPLATE", "short_link"),
        "code_link_template": env.str("WHATSAPP_CODE_LINK_TEMPLATE", ""),
        "languages": _languages(env.str("WHATSAPP_LANGUAGES", "") or "ru:ru,en:en_US"),
    }


def _telegram_gateway(env: VariableReader) -> Options:
    return {
        "api_url": env.str("TELEGRAM_GATEWAY_API_URL", "https://gatewayapi.telegram.org"),
        "proxy": proxies.for_account(
            env.str("TELEGRAM_GATEWAY_PROXY", ""), env.name("TELEGRAM_GATEWAY_PROXY")
        ),
        "token": env.str("TELEGRAM_GATEWAY_TOKEN", ""),
    }


def _telegram_bot(env: VariableReader) -> Options:
    return {
        "api_url": env.str("TELEGRAM_BOT_API_URL", "https://api.telegram.org"),
        "proxy": proxies.for_account(
            env.str("TELEGRAM_BOT_PROXY", ""), env.name("TELEGRAM_BOT_PROXY")
        ),
        "token": env.str("TELEGRAM_BOT_TOKEN", ""),
        "secret_token": env.str("TELEGRAM_BOT_SECRET", ""),
        "username": env.str("TELEGRAM_BOT_USERNAME", "").removeprefix("@"),
        "delivered_on": _one_of(
            ("accept", "click", "never"),
            env.str("TELEGRAM_BOT_DELIVERED_ON", ""),
            "TELEGRAM_BOT_DELIVERED_ON",
        ),
    }


def _twilio(env: VariableReader) -> Options:
    return {
        "api_url": env.str("TWILIO_API_URL", "https://api.twilio.com"),
        "proxy": proxies.for_account(env.str("TWILIO_PROXY", ""), env.name("TWILIO_PROXY")),
        "account_sid": env.str("TWILIO_ACCOUNT_SID", ""),
        "auth_token": env.str("TWILIO_AUTH_TOKEN", ""),
        "sender": env.str("TWILIO_FROM", ""),
    }


def _smsc(env: VariableReader) -> Options:
    return {
        "api_url": env.str("SMSC_API_URL", "https://smsc.ru"),
        "proxy": proxies.for_account(env.str("SMSC_PROXY", ""), env.name("SMSC_PROXY")),
        "login": env.str("SMSC_LOGIN", ""),
        "password": env.str("SMSC_PASSWORD", ""),
        "sender": env.str("SMSC_SENDER", ""),
        "callback_secret": env.str("SMSC_CALLBACK_SECRET", ""),
        "barred_errors": _words(env.str("SMSC_BARRED_ERRORS", "252")),
    }


def _smpp(env: VariableReader) -> Options:
    """An account is one long-lived connection in its own process: `manage.py run_smpp`."""
    options = {
        "host": env.str("SMPP_HOST", ""),
        "port": _integer(env, "SMPP_PORT", 2775),
        "tls": env.str("SMPP_TLS", "true").lower() in _YES,
        "ca_file": env.str("SMPP_CA_FILE", ""),
        "system_id": env.str("SMPP_SYSTEM_ID", ""),
        "password": env.str("SMPP_PASSWORD", ""),
        "system_type": env.str("SMPP_SYSTEM_TYPE", ""),
        "source": env.str("SMPP_SOURCE", ""),
        "source_ton": _integer(env, "SMPP_SOURCE_TON", -1),
        "source_npi": _integer(env, "SMPP_SOURCE_NPI", -1),
        "dest_ton": _integer(env, "SMPP_DEST_TON", 1),
        "dest_npi": _integer(env, "SMPP_DEST_NPI", 1),
        "alphabet": env.str("SMPP_ALPHABET", "gsm"),
        "long": env.str("SMPP_LONG", "udh"),
        "validity": env.str("SMPP_VALIDITY", "relative"),
        "message_ids": env.str("SMPP_MESSAGE_IDS", "auto"),
        "statuses": _pairs(env.str("SMPP_STATUSES", "")),
        "receipt_states": _pairs(env.str("SMPP_RECEIPT_STATES", "")),
        "barred_errors": _words(env.str("SMPP_BARRED_ERRORS", "")),
        "window": _integer(env, "SMPP_WINDOW", 10),
        "enquire": _number(env, "SMPP_ENQUIRE", 30),
    }
    if options["host"] and not (options["system_id"] and options["source"]):
        host, *needed = map(env.name, ("SMPP_HOST", "SMPP_SYSTEM_ID", "SMPP_SOURCE"))
        raise ImproperlyConfigured(f"{host} needs {' and '.join(needed)} as well")
    return options


def _number(env: VariableReader, name: str, default: float) -> float:
    text = env.str(name, "") or str(default)
    try:
        return float(text)
    except ValueError:
        raise ImproperlyConfigured(f"{env.name(name)} must be a number, not {text!r}") from None


def _integer(env: VariableReader, name: str, default: int) -> int:
    return int(_number(env, name, default))


def _pairs(text: str) -> dict[str, str]:
    """`0x401=unreachable,0x402=account`."""
    pairs = (one.partition("=") for one in text.split(",") if one.strip())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _words(text: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in text.split(",") if one.strip())


_YES = {"1", "true", "yes", "on", "y", "t"}
_READERS: dict[str, Callable[[VariableReader], Options]] = {
    "WHATSAPP": _whatsapp,
    "TELEGRAM_GATEWAY": _telegram_gateway,
    "TELEGRAM_BOT": _telegram_bot,
    "TWILIO": _twilio,
    "SMSC": _smsc,
    "SMPP": _smpp,
}
ACCOUNTS = {vendor: read(_FirstAccount()) for vendor, read in _READERS.items()}
# Not of the bot: a person shares a contact with one bot, and no other bot can write to them.
FURTHER_ACCOUNTS = {
    vendor: _further_accounts(vendor, read)
    for vendor, read in _READERS.items()
    if vendor != "TELEGRAM_BOT"
}
# One over SMPP has a host and TLS, and no URL.
HTTP_PROVIDER_ACCOUNTS = [
    account
    for accounts in (ACCOUNTS, *FURTHER_ACCOUNTS.values())
    for account in accounts.values()
    if "api_url" in account
]
