"""GET /messages, /messages/{id}, /test/messages and /channels."""

from django.utils.translation import gettext_lazy as _

from accounts.api.calls import (
    CURSOR,
    HAS_MORE,
    LIMIT,
    NEXT_CURSOR,
    Call,
    Field,
    Fields,
    array,
    text,
    time_or_day,
)
from accounts.models import Scope
from channels.web.fields import CHANNEL_NAMES, MESSAGE_STATUSES
from channels.web.message_fields import CHANNEL, KIND, MESSAGE, MESSAGE_DETAILS, TEST_MESSAGE
from config.errors import Error
from config.input import clipboard

WITH_PHONE = Field(
    "phone",
    text(),
    _("Only messages to this phone number, in any format."),
    required=False,
    reading=clipboard.plain,
)
OF_CHANNEL = Field("channel", CHANNEL_NAMES, _("The channel."), required=False)
WITH_STATUS = Field("status", MESSAGE_STATUSES, _("The status."), required=False)
OF_KIND = Field("kind", KIND.schema, _("Only messages of this kind."), required=False)
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
FILTERS = (WITH_PHONE, OF_CHANNEL, WITH_STATUS, OF_KIND, CREATED_FROM, CREATED_TO, LIMIT, CURSOR)
LISTED = (Error.INVALID_INPUT, Error.INVALID_PHONE)


def _rows(fields: Fields) -> Field:
    return Field("data", array(), _("The messages, newest first."), fields=fields)


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
    answer=(_rows(MESSAGE), HAS_MORE, NEXT_CURSOR),
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
    answer=MESSAGE_DETAILS,
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
    answer=(
        _rows(TEST_MESSAGE),
        HAS_MORE,
        NEXT_CURSOR,
    ),
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
    answer=(
        Field(
            "data",
            array(),
            _("The channels."),
            fields=CHANNEL,
        ),
    ),
    refusals=(Error.INVALID_INPUT,),
)

CALLS = (LIST_MESSAGES, GET_MESSAGE, TEST_MESSAGES, LIST_CHANNELS)
