"""The recipients of alerts to the operators, and OpenTelemetry tracing.

Tracing has the variables of its specification; it is off without an endpoint.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec

from django.core.exceptions import ImproperlyConfigured

from config.environment.variables import env, listed, mail_addresses

_TOKEN = re.compile(r"[0-9]{1,20}:[A-Za-z0-9_-]{1,100}")
_CHAT = re.compile(r"-?[0-9]{1,20}|@[A-Za-z0-9_]{1,64}")


def _token(text: str) -> str:
    if text and not _TOKEN.fullmatch(text):
        raise ImproperlyConfigured(
            "OPERATOR_TELEGRAM_BOT_TOKEN must be a token of @BotFather: digits, a colon, letters"
        )
    return text


def _chat(text: str) -> str:
    if text and not _CHAT.fullmatch(text):
        raise ImproperlyConfigured(
            "OPERATOR_TELEGRAM_CHAT_ID must be a number like -1001234567890, or a channel's @name"
        )
    return text


OPERATOR_EMAILS = mail_addresses("OPERATOR_EMAILS")
# `rule`, or `rule:subject` for one account, disk or check.
OPERATOR_MUTED_ALERTS = frozenset(listed("OPERATOR_MUTED_ALERTS"))
OPERATOR_TELEGRAM_BOT_TOKEN = _token(env.str("OPERATOR_TELEGRAM_BOT_TOKEN", "")) or env.str(
    "TELEGRAM_BOT_TOKEN", ""
)
OPERATOR_TELEGRAM_CHAT_ID = _chat(env.str("OPERATOR_TELEGRAM_CHAT_ID", ""))


def _endpoint(url: str) -> str:
    if url and not url.startswith(("http://", "https://")):
        raise ImproperlyConfigured("OTEL_EXPORTER_OTLP_ENDPOINT must be http://… or https://…")
    if url and find_spec("opentelemetry") is None:
        raise ImproperlyConfigured(
            "OTEL_EXPORTER_OTLP_ENDPOINT needs more packages: "
            "pip install --no-deps --require-hashes -r requirements/otel.txt"
        )
    return url.rstrip("/")


def _headers(text: str) -> dict[str, str]:
    """Reads `name=value,name=value`; errors never quote it: it may contain a key."""
    pairs = [pair.partition("=") for pair in text.split(",") if pair.strip()]
    if not all(name.strip() and equals for name, equals, _ in pairs):
        raise ImproperlyConfigured("OTEL_EXPORTER_OTLP_HEADERS must be name=value,name=value")
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def _ratio(text: str) -> float:
    try:
        ratio = float(text)
    except ValueError:
        ratio = -1.0
    if not 0 <= ratio <= 1:
        raise ImproperlyConfigured("OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1")
    return ratio


@dataclass(frozen=True, slots=True)
class Tracing:
    endpoint: str  # empty: off
    headers: Mapping[str, str] = field(repr=False)
    service_name: str
    ratio: float


TRACING = Tracing(
    _endpoint(env.str("OTEL_EXPORTER_OTLP_ENDPOINT", "")),
    _headers(env.str("OTEL_EXPORTER_OTLP_HEADERS", "")),
    env.str("OTEL_SERVICE_NAME", "") or "kvitok",
    _ratio(env.str("OTEL_TRACES_SAMPLER_ARG", "") or "1"),
)
