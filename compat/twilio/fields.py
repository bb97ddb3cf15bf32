"""The parameters of Twilio's calls, and what of ours they become."""

from collections.abc import Mapping
from dataclasses import replace

import orjson
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from api.calls import Field, text, time_or_day
from api.request_fields import RequestFields
from channels.web import fields
from compat.fields import guess, optional, own_code
from otp.protection.send_check import NOT_AN_ADDRESS, UNKNOWN, Requester, requester_of
from otp.texts import bindings
from parsing import characters

LONG = text(maxLength=1000)
SOME_TO = optional("To", text(maxLength=64))
TO = SOME_TO.chosen()
CHANNEL = optional("Channel", text(maxLength=20)).chosen()
LOCALE = replace(fields.LOCALE, name="Locale")
CUSTOM_CODE = own_code("CustomCode")
CUSTOM_MESSAGE = optional("CustomMessage", LONG)
SUBSTITUTIONS = optional("TemplateCustomSubstitutions", LONG)
RATE_LIMITS = optional("RateLimits", LONG)
TAGS = optional("Tags", text(maxLength=4000))
DEVICE_IP = optional("DeviceIp", text(maxLength=64))
RISK_CHECK = optional("RiskCheck", text(enum=["enable", "disable"]))
AMOUNT, PAYEE = optional("Amount", text(maxLength=32)), optional("Payee", text(maxLength=64))
CODE = guess("Code").chosen()
VERIFICATION_SID = optional("VerificationSid", text(pattern="^VE[0-9a-fA-F]{32}$"))
STATUS = optional("Status", text(enum=["canceled", "approved"])).chosen()
NAME = text(maxLength=64)  # these of lists
SERVICE, ANY_CHANNEL = optional("VerifyServiceSid", NAME), optional("Channel", NAME)
ATTEMPTS_TO = optional("ChannelData.To", NAME)
CONVERSION = optional("Status", text(enum=["converted", "unconverted"]))
AFTER = optional("DateCreatedAfter", time_or_day())
BEFORE = optional("DateCreatedBefore", time_or_day())
NOT_COUNTED = (optional("Country", NAME), ANY_CHANNEL, optional("DestinationPrefix", NAME))
MAX_TAGS, MAX_TAG = 10, 128


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
        read.add_error(field, _("A JSON object of texts"))
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
    given = {"amount": read.text(AMOUNT), "payee": read.text(PAYEE)}
    if not any(given.values()):
        return None
    try:
        return bindings.check(given)
    except ValidationError as error:
        for fault in error.messages:
            name, _colon, reason = fault.partition(": ")
            read.add_error(PAYEE if name == "payee" else AMOUNT, reason or fault)
        return None


def requester(read: RequestFields, company_id: int) -> Requester:
    is_trusted = read.text(RISK_CHECK) == "disable"
    try:
        return requester_of(company_id, ip=read.text(DEVICE_IP), is_trusted=is_trusted)
    except ValueError:
        read.add_error(DEVICE_IP, NOT_AN_ADDRESS)
        return UNKNOWN
