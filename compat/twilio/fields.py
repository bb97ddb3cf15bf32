"""The parameters of Twilio's calls, and what of ours they become."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from api.calls import Field, Schema, text
from api.request_fields import RequestFields
from channels.web import fields
from otp.texts import bindings
from parsing import characters, clipboard


def _field(name: str, schema: Schema | None = None, **more: Any) -> Field:
    return Field(name, schema or text(maxLength=1000), "", required=False, **more)


TO = _field("To", text(maxLength=64)).chosen()
CHANNEL = _field("Channel", text(maxLength=20)).chosen()
LOCALE = replace(fields.LOCALE, name="Locale")
CUSTOM_CODE = _field("CustomCode", text(pattern="^[0-9A-Za-z]{4,10}$"))
CUSTOM_MESSAGE = _field("CustomMessage")
SUBSTITUTIONS = _field("TemplateCustomSubstitutions")
RATE_LIMITS = _field("RateLimits")
TAGS = _field("Tags", text(maxLength=4000))
DEVICE_IP = _field("DeviceIp", text(maxLength=64))
RISK_CHECK = _field("RiskCheck", text(enum=["enable", "disable"]))
AMOUNT = _field("Amount", text(maxLength=32))
PAYEE = _field("Payee", text(maxLength=64))
CODE = _field("Code", text(pattern="^[0-9A-Za-z]{4,10}$"), reading=clipboard.code).chosen()
SOME_TO = TO.optional()
VERIFICATION_SID = _field("VerificationSid", text(pattern="^VE[0-9a-fA-F]{32}$"))
STATUS = _field("Status", text(enum=["canceled", "approved"])).chosen()

MAX_TAGS, MAX_TAG = 10, 128
NOT_JSON = _("A JSON object of texts")
NO_RATE_LIMITS = _("This service has no rate limits of its own: those of the company hold")


def object_of(read: RequestFields, field: Field) -> dict[str, str]:
    """The texts of a JSON object in a parameter."""
    value = read.text(field)
    if not value:
        return {}
    try:
        parsed = orjson.loads(value)
    except orjson.JSONDecodeError:
        parsed = None
    if not isinstance(parsed, dict) or not all(isinstance(text, str) for text in parsed.values()):
        read.add_error(field, NOT_JSON)
        return {}
    return parsed


def tags(read: RequestFields) -> Mapping[str, str]:
    named = object_of(read, TAGS)
    parts = [part for pair in named.items() for part in pair]
    longest = max(map(len, parts), default=0)
    if len(named) > MAX_TAGS or longest > MAX_TAG or not all(map(characters.is_text, parts)):
        read.add_error(TAGS, _("At most 10 tags of at most 128 characters"))
    return named


def binding(read: RequestFields) -> dict[str, str] | None:
    """What the person agrees to by the code: an amount and who gets it."""
    given = {"amount": read.text(AMOUNT) or "", "payee": read.text(PAYEE) or ""}
    if not any(given.values()):
        return None
    try:
        return bindings.check(given)
    except ValidationError as error:
        for fault in error.messages:
            read.add_error(PAYEE if fault.startswith("payee") else AMOUNT, fault)
        return None


def refuse_unknown_rate_limits(read: RequestFields) -> None:
    if object_of(read, RATE_LIMITS):
        read.add_error(RATE_LIMITS, NO_RATE_LIMITS)
