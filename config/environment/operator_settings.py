"""Where alerts to the operators go."""

import re

from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.validators import validate_email

from config.environment.variables import env
from parsing.hosts import HostError, ascii_address

_TOKEN = re.compile(r"[0-9]{1,20}:[A-Za-z0-9_-]{1,100}")
_CHAT = re.compile(r"-?[0-9]{1,20}|@[A-Za-z0-9_]{1,64}")


def _addresses(text: str) -> list[str]:
    addresses = [address.strip() for address in text.split(",") if address.strip()]
    for address in addresses:
        try:
            validate_email(address)
            ascii_address(address)
        except (ValidationError, HostError):
            raise ImproperlyConfigured(f"OPERATOR_EMAILS: {address!r} is no address") from None
    return [ascii_address(address) for address in addresses]


def _token(text: str) -> str:
    if text and not _TOKEN.fullmatch(text):
        raise ImproperlyConfigured(
            "OPERATOR_TELEGRAM_BOT_TOKEN must be as @BotFather gave it: digits, a colon, letters"
        )
    return text


def _chat(text: str) -> str:
    if text and not _CHAT.fullmatch(text):
        raise ImproperlyConfigured(
            "OPERATOR_TELEGRAM_CHAT_ID must be a number, as -1001234567890, or a channel's @name"
        )
    return text


OPERATOR_EMAILS = _addresses(env.str("OPERATOR_EMAILS", ""))
# `rule`, or `rule:subject` for one account, disk or check.
OPERATOR_MUTED_ALERTS = frozenset(
    name.strip() for name in env.str("OPERATOR_MUTED_ALERTS", "").split(",") if name.strip()
)
OPERATOR_TELEGRAM_BOT_TOKEN = _token(env.str("OPERATOR_TELEGRAM_BOT_TOKEN", "")) or env.str(
    "TELEGRAM_BOT_TOKEN", ""
)
OPERATOR_TELEGRAM_CHAT_ID = _chat(env.str("OPERATOR_TELEGRAM_CHAT_ID", ""))
