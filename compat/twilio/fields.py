"""The parameters of Twilio's calls, and their parsing."""

from dataclasses import replace
from itertools import chain

import orjson
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from api.calls import text, time_or_day
from catalogue.channels import BY_NAME
from catalogue.errors import DomainError, Error
from channels.web import fields as our_fields
from compat.fields import Body, custom_code, entered_code, optional, parsed
from otp.texts import bindings
from parsing import characters

MAX_TAGS = 10
MAX_TAG = 128


def json_texts(parameter: str) -> dict[str, str]:
    try:
        value = orjson.loads(parameter)
    except orjson.JSONDecodeError:
        value = None
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise ValidationError(_("A JSON object of texts"))
    return value


def tags(parameter: str) -> dict[str, str]:
    named_texts = json_texts(parameter)
    parts = list(chain(*named_texts.items()))
    longest = max(map(len, parts), default=0)
    if len(named_texts) > MAX_TAGS or longest > MAX_TAG or not all(map(characters.is_text, parts)):
        raise ValidationError(_("At most 10 tags of at most 128 characters"))
    return named_texts


def channel(name: str) -> str | None:
    """The channel, or None for the company's own order, which Twilio calls `auto`."""
    name = name.lower()
    if name in {"call", "email", "sna"}:
        raise DomainError(Error.CHANNEL_UNAVAILABLE, message=name)
    if name not in {"auto", *BY_NAME}:
        raise ValidationError(_("sms, whatsapp or auto"))
    return None if name == "auto" else name


def no_rate_limits(parameter: str) -> None:
    if json_texts(parameter):
        raise ValidationError(
            _("This service has no rate limits of its own: the company's limits apply")
        )


LONG = text(maxLength=1000)
NAME = text(maxLength=64)
TO = optional("To", NAME)
PAYEE = optional("Payee", NAME)
AMOUNT = optional("Amount", text(maxLength=32))
DEVICE_IP = optional("DeviceIp", NAME)
SEND = (
    TO.as_required(),
    parsed("Channel", text(maxLength=20), channel).as_required(),
    replace(our_fields.LOCALE, name="Locale"),
    custom_code("CustomCode"),
    optional("CustomMessage", text(maxLength=0), _("Texts are set in the cabinet")),
    parsed("RateLimits", LONG, no_rate_limits),
    parsed("TemplateCustomSubstitutions", LONG, json_texts),
    AMOUNT,
    PAYEE,
    parsed("Tags", text(maxLength=4000), tags),
    optional("RiskCheck", text(enum=["enable", "disable"])),
    DEVICE_IP,
)
NEW_STATUS = optional("Status", text(enum=["canceled", "approved"])).as_required()
VERIFICATION_SID = optional("VerificationSid", text(pattern="^VE[0-9a-fA-F]{32}$"))
CHECK = (entered_code("Code").as_required(), TO, VERIFICATION_SID, AMOUNT, PAYEE)
# The parameters of lists.
SERVICE = optional("VerifyServiceSid", NAME)
ANY_CHANNEL = optional("Channel", NAME)
ATTEMPTS_TO = optional("ChannelData.To", NAME)
CONVERSION = optional("Status", text(enum=["converted", "unconverted"]))
AFTER = optional("DateCreatedAfter", time_or_day())
BEFORE = optional("DateCreatedBefore", time_or_day())
NOT_COUNTED = (optional("Country", NAME), ANY_CHANNEL, optional("DestinationPrefix", NAME))


def binding_of(body: Body) -> dict[str, str] | None:
    """The payment, amount and payee, that the recipient confirms with the code."""
    payment = {"amount": body["Amount"], "payee": body["Payee"]}
    if not any(payment.values()):
        return None
    try:
        return bindings.check(payment)
    except ValidationError as error:
        for fault in error.messages:
            name, _colon, reason = fault.partition(": ")
            body.add_error(PAYEE if name == "payee" else AMOUNT, reason or fault)
        return None
