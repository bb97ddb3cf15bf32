"""Reads the process environment, the only source of differences between machines."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from environs import EnvValidationError, FileAwareEnv

ROOT = Path(__file__).resolve().parents[2]


def _unless_empty(read: Callable[..., Any]) -> Any:
    def method(self: FileAwareEnv, name: str, default: Any) -> Any:
        if not self.str(name, ""):
            return default
        try:
            return read(self, name, default)
        except EnvValidationError as error:
            raise ImproperlyConfigured(str(error)) from None

    return method


class Variables(FileAwareEnv):
    """A number or a boolean left empty counts as not set, as in a copy of `.env.example`."""

    bool = _unless_empty(FileAwareEnv.bool)
    int = _unless_empty(FileAwareEnv.int)
    float = _unless_empty(FileAwareEnv.float)


# `NAME_FILE=/run/secrets/name` stands for `NAME`, as container platforms hand secrets over. Read
# for the names we ask for only: every other program has its own `…_FILE`s, and large ones.
env = Variables(strip_whitespace=True)

KEYRINGS = ("OTP_KEYS", "WEBHOOK_KEYS", "MFA_KEYS")


def web_address(name: str) -> str:
    """An http or https URL, or an empty string; it becomes a link on every page."""
    value: str = env.str(name, "")
    if value and not value.startswith(("https://", "http://")):
        raise ImproperlyConfigured(f"{name} must begin with https://")
    return value


def at_least(least: int, name: str, default: int) -> int:
    value: int = env.int(name, default)
    if value < least:
        raise ImproperlyConfigured(f"{name} must be {least} or more")
    return value


def zero_or_at_least(least: int, name: str, default: int) -> int:
    value: int = env.int(name, default)
    if value and value < least:
        raise ImproperlyConfigured(f"{name} must be 0, or {least} or more")
    return value


def keyring(text: str, name: str = "OTP_KEYS") -> dict[str, bytes]:
    """`id:secret,id2:secret2` as a dict in that order; the first key signs, all verify.

    Raises ImproperlyConfigured. Errors name keys by position: text without a colon may be a secret.
    """
    keys: dict[str, bytes] = {}
    for place, item in enumerate(filter(str.strip, text.split(",")), start=1):
        key_id, _, secret = (part.strip() for part in item.partition(":"))
        if not (1 <= len(key_id) <= 16 and len(secret) >= 32 and (key_id + secret).isprintable()):
            raise ImproperlyConfigured(
                f"{name}: key {place} must be id:secret, with an id of 1 to 16 and a secret of "
                "at least 32 printable characters (see .env.example)"
            )
        if key_id in keys:
            raise ImproperlyConfigured(f"{name}: key {place} has the id of another key")
        keys[key_id] = secret.encode()
    if not keys:
        raise ImproperlyConfigured(f"{name} must hold at least one id:secret (see .env.example)")
    return keys
