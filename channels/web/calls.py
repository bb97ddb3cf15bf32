"""Declares GET /messages, /messages/{id}, /test/messages and /channels, and the events of
messages.
"""

from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext_lazy as _

from accounts.models import Scope
from api.calls import (
    CURSOR,
    LIMIT,
    Call,
    Field,
    Shape,
    array,
    choice,
    example_of,
    nullable,
    page_of,
    text,
    time_or_day,
)
from catalogue.errors import Error
from channels.models import stored_fields
from channels.phone_numbers import LineType
from channels.routing.lookup import Reach, Reason
from channels.web.fields import CHANNEL_NAMES, MESSAGE_STATUSES, UNDERSTOOD_PHONE
from channels.web.message_fields import CHANNEL, KIND, MESSAGE, MESSAGE_DETAILS, TEST_MESSAGE
from parsing import clipboard
from webhooks.events import EventDeclaration, iso
from webhooks.models import EventKind

WITH_PHONE = Field(
    "phone",
    text(),
    _("Only messages to this phone number, in any format."),
    required=False,
    normalise=clipboard.plain,
)
WITH_STATUS = Field("status", MESSAGE_STATUSES, _("The status."), required=False)
CREATED_FROM = Field(
    "from",
    time_or_day(),
    _("Only messages created at or after this time, in ISO 8601 format."),
    required=False,
)
CREATED_TO = Field(
    "to",
    time_or_day(),
    _("Only messages created before this time, in ISO 8601 format."),
    required=False,
)
FILTERS = (
    WITH_PHONE,
    *(field.filter for field in stored_fields.FIELDS),
    Field("channel", CHANNEL_NAMES, _("The channel."), required=False),
    WITH_STATUS,
    Field("kind", KIND.schema, _("Only messages of this kind."), required=False),
    CREATED_FROM,
    CREATED_TO,
    LIMIT,
    CURSOR,
)
LISTED = (Error.INVALID_INPUT, Error.INVALID_PHONE)


NEWEST_FIRST = _("The messages, newest first.")

LIST_MESSAGES = Call(
    "GET",
    "/messages",
    "listMessages",
    _("Message history"),
    _(
        "Lists the company's messages in the key's mode: a live key sees live messages, a "
        "test key sees test messages."
    ),
    Scope.MESSAGES,
    message=_("Message history"),
    query=FILTERS,
    response=page_of(MESSAGE, NEWEST_FIRST),
    refusals=LISTED,
)

GET_MESSAGE = Call(
    "GET",
    "/messages/{id}",
    "getMessage",
    _("Retrieve a message"),
    _("Returns a message with its delivery attempts and the receipts from providers."),
    Scope.MESSAGES,
    message=_("Message"),
    response=MESSAGE_DETAILS,
    refusals=(Error.NOT_FOUND,),
)

TEST_MESSAGES = Call(
    "GET",
    "/test/messages",
    "listTestMessages",
    _("List test messages"),
    _("Lists messages sent with test keys, with their texts and codes. Requires a test key."),
    Scope.MESSAGES,
    page="test-mode",
    message=_("Messages of test keys"),
    query=FILTERS,
    response=page_of(TEST_MESSAGE, NEWEST_FIRST),
    refusals=LISTED,
)

IN_COUNTRY = Field(
    "country",
    text(minLength=2, maxLength=2),
    _(
        "The country of the recipients, as an ISO 3166 code: an SMS may have a price of its own "
        "there. By default the price everywhere else."
    ),
    "KZ",
    required=False,
)
NOT_A_COUNTRY = _("Not a country code: two letters of ISO 3166, such as KZ")

LIST_CHANNELS = Call(
    "GET",
    "/channels",
    "listChannels",
    _("Channels"),
    _("Lists the channels with their prices, capabilities and current availability."),
    None,
    message=_("Channels"),
    query=(IN_COUNTRY,),
    response=(Field("data", array(), _("The channels."), fields=CHANNEL),),
    refusals=(Error.INVALID_INPUT,),
)

LOOKUP_PURPOSE = Field(
    "purpose",
    text(maxLength=64),
    _("The purpose of the code: the company's policy may have rules of its own for it."),
    required=False,
)
CHANNEL_REACH = Shape(
    "ChannelReach",
    (
        Field("channel", CHANNEL_NAMES, _("The channel."), "sms", source=lambda x: x.channel.name),
        Field(
            "reach",
            choice(Reach, "Reach"),
            _(
                "Whether it reaches the person: `yes`, `no`, or `unknown`: only sending a message "
                "would tell."
            ),
            "unknown",
        ),
        Field(
            "reason",
            nullable(choice(Reason, "ReachReason")),
            _(
                "Why it is `yes` or `no`. `contact`: the person let our bot write to them. "
                "`no_contact`: they did not. `blocked`: they opted out. `landline`: "
                "the channel reaches mobiles only. `country`: the country is not on the "
                "company's list. `policy`: the company's rules leave the channel out. "
                "`unavailable`: no account can send codes by it now. `null` for `unknown`."
            ),
        ),
    ),
)
LOOK_UP = Call(
    "GET",
    "/lookup/{phone}",
    "lookUpPhone",
    _("Look up a number"),
    _(
        "Returns what is known about a phone number without sending anything: its country, its "
        "type and the channels that reach it. No vendor is asked and no token is charged. In "
        "the path the plus is written as it is or as `%2B`."
    ),
    Scope.OTP,
    message=_("What is known about the number"),
    query=(LOOKUP_PURPOSE,),
    response=(
        UNDERSTOOD_PHONE,
        Field(
            "country",
            nullable(text(pattern="^[A-Z]{2}$")),
            _("The ISO 3166 code of its country; `null` if its calling code is of no country."),
            "RU",
        ),
        Field(
            "type",
            choice(LineType, "LineType"),
            _(
                "What the number's range belongs to; a number that moved to another carrier keeps "
                "the type of its range. `fixed_or_mobile` where both have the same ranges, as in "
                "the USA."
            ),
            "mobile",
        ),
        Field(
            "channels",
            array(),
            _("Every channel, and whether it reaches this number for this company."),
            fields=CHANNEL_REACH,
        ),
    ),
    refusals=(Error.INVALID_INPUT, Error.INVALID_PHONE),
)

CALLS = (LIST_MESSAGES, GET_MESSAGE, TEST_MESSAGES, LIST_CHANNELS, LOOK_UP)


_EVENT_FIELDS = tuple(field for field in MESSAGE if field.name not in {"read_at", "test"})


def _example(kind: EventKind, subject: str, now: datetime) -> dict[str, Any]:
    status = kind.removeprefix("message.")
    is_final = status != "sent"
    is_sent = status in {"sent", "delivered"}
    return example_of(_EVENT_FIELDS) | {
        "id": f"msg_{subject}",
        "status": status,
        "error": "recipient_unreachable" if status == "failed" else None,
        "created_at": iso(now - timedelta(seconds=3)),
        "sent_at": iso(now - timedelta(seconds=2)) if is_sent else None,
        "delivered_at": iso(now) if status == "delivered" else None,
        "finished_at": iso(now) if is_final else None,
    }


MESSAGE_EVENT = EventDeclaration(
    "MessageEvent",
    {
        EventKind.MESSAGE_SENT: _(
            "The channel accepted the message; there is no delivery receipt yet."
        ),
        EventKind.MESSAGE_DELIVERED: _("Delivery was confirmed and the tokens were charged."),
        EventKind.MESSAGE_FAILED: _(
            "The message could not be delivered and the tokens were returned. `error` gives the "
            "reason."
        ),
        EventKind.MESSAGE_EXPIRED: _(
            "Delivery was not confirmed in time and the tokens were returned."
        ),
    },
    _EVENT_FIELDS,
    _example,
)

EVENTS = (MESSAGE_EVENT,)
