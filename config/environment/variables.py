"""Reads environment variables, the only settings that differ between machines."""

import re
from collections.abc import Callable
from email.utils import formataddr
from pathlib import Path
from string import whitespace
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.validators import validate_email
from environs import EnvValidationError, FileAwareEnv
from phonenumbers import SUPPORTED_REGIONS

from parsing.hosts import HostError, ascii_address, ascii_host

ROOT = Path(__file__).resolve().parents[2]
_AROUND = f"{whitespace}\ufeff"
_WITH_NAME = re.compile(r"(.*)<([^<>]*)>")
MAX_SECONDS = 86_400


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
    """Treats an empty variable as unset, like in a copy of `.env.example`.

    Strips line ends and byte order marks: secrets read from files may have them, but they are
    invalid in addresses and headers.
    """

    bool = _unless_empty(FileAwareEnv.bool)
    int = _unless_empty(FileAwareEnv.int)
    float = _unless_empty(FileAwareEnv.float)
    log_level = _unless_empty(FileAwareEnv.log_level)

    def _get_value(self, env_key: str, default: Any) -> Any:
        value = super()._get_value(env_key, default)
        return value.strip(_AROUND) if isinstance(value, str) else value


# `NAME_FILE=/run/secrets/name` sets `NAME`, the way container platforms provide secrets. Only files
# of our names are read: other programs also have variables that end in `_FILE`.
env = Variables()


def listed(name: str, default: str = "") -> list[str]:
    """The items of `a,b`, with or without spaces and a final comma."""
    return [item for part in env.str(name, default).split(",") if (item := part.strip())]


def hosts(name: str) -> list[str]:
    """Hosts in lower case and ASCII; `*.example.com` becomes example.com."""
    try:
        return [ascii_host(host.removeprefix("*.")) for host in listed(name)]
    except HostError as error:
        raise ImproperlyConfigured(f"{name}: {error} is not a host: write example.com") from None


def web_address(name: str) -> str:
    """An http or https URL, or an empty string; it becomes a link on every page."""
    value: str = env.str(name, "")
    if value and not value.startswith(("https://", "http://")):
        raise ImproperlyConfigured(f"{name} must begin with https://")
    return value


def at_least(minimum: int, name: str, default: int) -> int:
    value: int = env.int(name, default)
    if value < minimum:
        raise ImproperlyConfigured(f"{name} must be {minimum} or more")
    return value


def seconds(name: str, default: float, *, at_least: float) -> float:
    value: float = env.float(name, default)
    if not at_least <= value <= MAX_SECONDS:
        raise ImproperlyConfigured(f"{name} must be {at_least:g} to {MAX_SECONDS} seconds")
    return value


def mailbox(name: str, default: str = "") -> str:
    """Reads `no-reply@example.com`, or `Kvitok, support <no-reply@example.com>`.

    The name is quoted here, because mail programs would split the address at a comma.
    """
    text = (env.str(name, "") or default).strip("\"' ")
    match = _WITH_NAME.fullmatch(text)
    title, address = match.groups() if match else ("", text)
    return formataddr((title.strip("\"' "), _mail_address(name, address))) if text else ""


def mail_addresses(name: str) -> list[str]:
    return [_mail_address(name, address) for address in listed(name)]


def _mail_address(name: str, address: str) -> str:
    try:
        validate_email(address)
        return ascii_address(address)
    except (ValidationError, HostError):
        raise ImproperlyConfigured(f"{name}: {address!r} is not an address") from None


def country(name: str, default: str) -> str:
    value: str = (env.str(name, "") or default).upper()
    if value not in SUPPORTED_REGIONS:
        raise ImproperlyConfigured(f"{name} must be a country code of two letters, such as RU")
    return value


def time_zone(name: str, default: str) -> str:
    """The time zone, checked at start: without its data every page that shows a time would fail."""
    value: str = env.str(name, "") or default
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ImproperlyConfigured(
            f"{name}: this machine has no data for {value}: use a name like Europe/Moscow,"
            " or install tzdata (tzdata-legacy for an old name)"
        ) from None
    return value


def request_header(name: str) -> str:
    """The header's key in `request.META`, even for CF-IPCountry."""
    text = env.str(name, "").upper().replace("-", "_")
    return text if not text or text.startswith("HTTP_") else f"HTTP_{text}"


def provider_timeout(text: str) -> tuple[float, float]:
    """Reads `2,8`: seconds to connect to a provider, and seconds for its whole response."""
    try:
        connect, read = map(float, text.split(","))
    except ValueError:
        connect = 0
        read = 0
    if not (0 < connect < 3600 and 0 < read < 3600):
        raise ImproperlyConfigured("PROVIDER_TIMEOUT must be two numbers of seconds: 2,8")
    return connect, read


def split_options(url: str) -> tuple[str, dict[str, str]]:
    """A URL without its query, and the query's options by name."""
    parts = urlsplit(url)
    return parts._replace(query="").geturl(), dict(parse_qsl(parts.query, keep_blank_values=True))


def whole_option(
    options: dict[str, Any], variable: str, name: str, default: int, *, at_least: int = 0
) -> int:
    """Takes a whole number out of a URL's options."""
    text = str(options.pop(name, default))
    if not (text.isascii() and text.isdigit() and at_least <= int(text) < 10**9):
        raise ImproperlyConfigured(f"{variable}: {name} must be {at_least} or more")
    return int(text)


def zero_or_at_least(minimum: int, name: str, default: int) -> int:
    value: int = env.int(name, default)
    if value and value < minimum:
        raise ImproperlyConfigured(f"{name} must be 0, or {minimum} or more")
    return value


def keyring(text: str, name: str = "OTP_KEYS") -> dict[str, bytes]:
    """Reads `id:secret,id2:secret2`, in that order; the first key signs, all verify.

    Raises ImproperlyConfigured. Errors give a key's position: text without a colon may be a secret.
    """
    keys: dict[str, bytes] = {}
    for number, pair in enumerate(filter(str.strip, text.split(",")), start=1):
        key_id, _, secret = (part.strip() for part in pair.partition(":"))
        if not (1 <= len(key_id) <= 16 and len(secret) >= 32 and (key_id + secret).isprintable()):
            raise ImproperlyConfigured(
                f"{name}: key {number} must be id:secret, with an id of 1 to 16 and a secret of "
                "at least 32 printable characters (see .env.example)"
            )
        if key_id in keys:
            raise ImproperlyConfigured(f"{name}: key {number} has the id of another key")
        keys[key_id] = secret.encode()
    if not keys:
        raise ImproperlyConfigured(f"{name} must hold at least one id:secret (see .env.example)")
    return keys
