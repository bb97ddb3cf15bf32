"""GET /messages, /messages/{id}, /test/messages and /channels."""

from django.utils.translation import gettext_lazy as _

from accounts.api.calls import Call
from accounts.api.common_fields import CURSOR, HAS_MORE, LIMIT, NEXT_CURSOR
from accounts.api.fields import Field, Fields, array, text, time_or_day
from accounts.models import Scope
from channels.web.fields import CHANNEL_NAMES, MESSAGE_STATUSES
from channels.web.message_fields import CHANNEL, KIND, MESSAGE, MESSAGE_DETAILS, TEST_MESSAGE
from config.errors import Error

WITH_PHONE = Field("phone", text(), _("The number, in any spelling."), required=False)
OF_CHANNEL = Field("channel", CHANNEL_NAMES, _("The channel."), required=False)
WITH_STATUS = Field("status", MESSAGE_STATUSES, _("The status."), required=False)
OF_KIND = Field("kind", KIND.schema, _("A code or a link."), required=False)
CREATED_FROM = Field(
    "from",
    time_or_day(),
    _("From when, ISO 8601, inclusive."),
    required=False,
)
CREATED_TO = Field(
    "to",
    time_or_day(),
    _("Until when, ISO 8601, exclusive."),
    required=False,
)
FILTERS = (WITH_PHONE, OF_CHANNEL, WITH_STATUS, OF_KIND, CREATED_FROM, CREATED_TO, LIMIT, CURSOR)
LISTED = (Error.INVALID_INPUT, Error.INVALID_PHONE)


def _rows(fields: Fields) -> Field:
    return Field("data", array(), _("The rows, newest first."), fields=fields)


LIST_MESSAGES = Call(
    "GET",
    "/messages",
    "listMessages",
    _("Message history"),
    _("The company's messages in the key's mode: a live key sees live ones, a test key its own."),
    Scope.MESSAGES,
    message=_("Message history"),
    query=FILTERS,
    answer=(_rows(MESSAGE), HAS_MORE, NEXT_CURSOR),
    refusals=LISTED,
)

GET_MESSAGE = Call(
    "GET",
    "/messages/{id}",
    "getMessage",
    _("One message"),
    _("A message and all that happened to it: attempts and the providers' receipts."),
    Scope.MESSAGES,
    message=_("Message"),
    answer=MESSAGE_DETAILS,
    refusals=(Error.NOT_FOUND,),
)

TEST_MESSAGES = Call(
    "GET",
    "/test/messages",
    "listTestMessages",
    _("What the phone would have shown"),
    _("The texts of test keys' messages, codes included. For test keys only."),
    Scope.MESSAGES,
    page="test-mode",
    message=_("Messages of test keys"),
    query=FILTERS,
    answer=(
        _rows(TEST_MESSAGE),
        HAS_MORE,
        NEXT_CURSOR,
    ),
    refusals=LISTED,
)

LIST_CHANNELS = Call(
    "GET",
    "/channels",
    "listChannels",
    _("Channels"),
    _("The price of each channel, what it can carry and whether it is available now."),
    None,
    message=_("Channels"),
    query=(),
    answer=(
        Field(
            "data",
            array(),
            _("Every channel."),
            fields=CHANNEL,
        ),
    ),
)

CALLS = (LIST_MESSAGES, GET_MESSAGE, TEST_MESSAGES, LIST_CHANNELS)
