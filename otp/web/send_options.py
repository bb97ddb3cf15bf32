"""Declares the options of a send besides number and purpose, and reads them from a request."""

import re
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.keys.principal import Principal
from api.calls import array, integer, option, text
from api.request_fields import RequestFields
from catalogue.channels import BY_NAME
from channels.models import stored_fields
from channels.routing.company_policy import NO_ORDER, RequestedOrder
from channels.web.fields import CHANNEL, CHANNEL_NAMES
from links.api.fields import LINK_FOR_CODE
from otp.models import CodeText
from otp.texts import bindings, rules
from otp.texts.rendering import VARIABLES
from parsing.characters import is_line, is_text
from webhooks.egress import MAX_URL_LENGTH
from webhooks.endpoints import Callback, find_callback

MAX_METADATA = 10  # entries
MAX_METADATA_NAME = 40  # characters
MAX_METADATA_TEXT = 200  # characters

CHANNELS = option(
    "channels",
    array(CHANNEL_NAMES) | {"minItems": 1, "maxItems": len(BY_NAME)},
    _(
        "The only channels to try, in this order, within the company's policy: barred channels "
        "are left out, and its maximum cost applies. Cannot be combined with `channel`."
    ),
    error=_("Different channels, at least one"),
)
PATIENCE = option(
    "patience",
    integer(*settings.PATIENCE_RANGE),
    _(
        "The number of seconds that each channel of this send has to prove delivery before "
        "the next is tried."
    ),
)
CODE_LENGTH = option(
    "code_length",
    integer(4, 8),
    _("The number of digits of this code; by default the company's setting."),
)
EXPIRES_IN = option(
    "expires_in",
    integer(*settings.CODE_LIFETIME_RANGE),
    _("The lifetime of a new code in seconds. A live code that is sent again keeps its expiry."),
)
TEXT = option(
    "text",
    text(maxLength=CodeText.MAX_LENGTH),
    _(
        "The text of this message, with `:code` where the code goes; the rules of the "
        "company's own texts apply. Only channels that show a text of your own send it. Cannot "
        "be combined with `link`."
    ),
    is_multiline=True,
)
_STRINGS = {"type": "object", "additionalProperties": {"type": "string"}}
METADATA = option(
    "metadata",
    _STRINGS | {"maxProperties": MAX_METADATA},
    format_lazy(
        _(
            "Up to {strings} strings of your own; names have up to {name} characters, texts up to "
            "{text}. Answers and webhooks show them."
        ),
        strings=MAX_METADATA,
        name=MAX_METADATA_NAME,
        text=MAX_METADATA_TEXT,
    ),
)
BIND = option(
    "bind",
    _STRINGS,
    _(
        "What the person agrees to by entering the code: `amount`, `payee` and perhaps "
        "`currency`, or `document`, a SHA-256 in hexadecimal, and perhaps its `title`. The "
        "message shows it, so only channels that show a text of your own carry it, and the "
        "code is correct only together with it. Cannot be combined with `link`."
    ),
)
CALLBACK_URL = option(
    "callback_url",
    text(format="uri", maxLength=MAX_URL_LENGTH),
    _(
        "Events of this message and `otp.verified` go to this URL as well, whatever the endpoint "
        "subscribes to. Its host and port must be those of an enabled webhook endpoint of this "
        "mode, whose secret signs them."
    ),
    is_checked_later=True,
)
OPTIONS = (
    *(CHANNELS, PATIENCE, CODE_LENGTH, EXPIRES_IN, TEXT),
    BIND,
    *(field.sent for field in stored_fields.of_kind("code")),
    *(METADATA, CALLBACK_URL),
)

NOT_WITH_CHANNEL = _("Cannot be combined with channel")
NOT_WITH_LINK = _("Cannot be combined with link")
NOT_WITH_CODE = _("Cannot be combined with a custom code")
_CODE = re.compile(r":code(?!\w)")
_NAMES = {field.name for field in OPTIONS}
METADATA_ERROR = format_lazy(
    _("Up to {strings} strings; names of up to {name} characters, texts of up to {text}"),
    strings=MAX_METADATA,
    name=MAX_METADATA_NAME,
    text=MAX_METADATA_TEXT,
)


def parse_options(fields: RequestFields, principal: Principal) -> dict[str, Any]:
    """The fields of a `CodeSendRequest` that the options set; adds their errors to `fields`."""
    if fields.payload.keys().isdisjoint(_NAMES):
        return {}
    options = {
        "order": _order(fields),
        "code_length": fields.integer(CODE_LENGTH),
        "lifetime": fields.integer(EXPIRES_IN),
        "text": _custom_text(fields),
        "binding": parse_binding(fields),
        **stored_fields.parse(fields, "code"),
        "metadata": _metadata(fields),
        "callback": _callback(fields, principal),
    }
    if fields.payload.get(LINK_FOR_CODE.name):
        for field, name in ((TEXT, "text"), (BIND, "binding")):
            if options[name]:
                fields.add_error(field, NOT_WITH_LINK)
    if fields.payload.get("code"):
        for field, name in ((CODE_LENGTH, "code_length"), (BIND, "binding")):
            if options[name]:
                fields.add_error(field, NOT_WITH_CODE)
    return options


def _order(fields: RequestFields) -> RequestedOrder:
    names = _channels(fields)
    if names and fields.payload.get(CHANNEL.name):
        fields.add_error(CHANNELS, NOT_WITH_CHANNEL)
    patience = fields.integer(PATIENCE)
    return RequestedOrder(names, patience) if names or patience else NO_ORDER


def _channels(fields: RequestFields) -> tuple[str, ...]:
    if fields.payload.get(CHANNELS.name) is None:
        return ()
    names = fields.array(CHANNELS)
    are_known = all(isinstance(name, str) and name in BY_NAME for name in names)
    if are_known and len(set(names)) == len(names):
        return tuple(names)
    fields.add_error(CHANNELS, CHANNELS.error or "")
    return ()


def _custom_text(fields: RequestFields) -> str | None:
    body = fields.text(TEXT)
    if not body:
        return None
    body = _CODE.sub("{code}", "\n".join(body.splitlines()).strip())
    try:
        rules.check(body, [name for name in VARIABLES if name != "link"])
    except ValidationError as error:
        for fault in error.messages:
            fields.add_error(TEXT, fault)
    return body


def parse_binding(fields: RequestFields) -> dict[str, str] | None:
    value = fields.payload.get(BIND.name)
    if value is None:
        return None
    try:
        return bindings.check(value)
    except ValidationError as error:
        for fault in error.messages:
            fields.add_error(BIND, fault)
    return None


def _metadata(fields: RequestFields) -> Mapping[str, str]:
    value = fields.payload.get(METADATA.name)
    if value is None:
        return {}
    if (
        isinstance(value, dict)
        and len(value) <= MAX_METADATA
        and all(map(_is_entry, value.items()))
    ):
        return value
    fields.add_error(METADATA, METADATA_ERROR)
    return {}


def _callback(fields: RequestFields, principal: Principal) -> Callback | None:
    callback = None
    if url := fields.text(CALLBACK_URL):
        with fields.collecting():
            callback = find_callback(principal.company_id, principal.mode, url)
    return callback


def _is_entry(entry: tuple[str, Any]) -> bool:
    name, value = entry
    is_name = 0 < len(name) <= MAX_METADATA_NAME and is_line(name)
    return is_name and isinstance(value, str) and len(value) <= MAX_METADATA_TEXT and is_text(value)
