"""GET /messages, /messages/{id}, /test/messages and /channels, written down."""

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.models import Scope
from api_docs.calls import message_samples
from api_docs.calls.common_fields import (
    CHANNEL_NAMES,
    CURSOR,
    HAS_MORE,
    LIMIT,
    MESSAGE_ID,
    MESSAGE_STATUSES,
    NEXT_CURSOR,
    REQUEST_ID,
    STATUS,
    TEST,
    USED_CHANNEL,
)
from api_docs.calls.shapes import (
    Call,
    Field,
    Fields,
    Shape,
    array,
    boolean,
    choice,
    integer,
    nullable,
    text,
    time,
    time_or_day,
)
from channels.lifecycle.steps import FallbackReason
from channels.models import Attempt, Message
from channels.providers.base import Content
from channels.providers.inbound import ReceiptState
from channels.web.api import WORDS
from config.errors import Error
from config.texts import StrOrPromise

RECEIPT_STATUSES = [one.value for one in ReceiptState if one is not ReceiptState.UNREACHABLE]

KIND = Field(
    "kind",
    choice(list(Message.Kind.values), "MessageKind"),
    _("What was sent: a code or a link."),
    "code",
)
NUMBER = Field(
    "phone",
    text(pattern=r"^\+[0-9]+\*?$"),
    _("The recipient's number, E.164. Of an old message its beginning and `*` alone."),
    "+79990000000",
)
LINK = Field(
    "short_url",
    nullable(text(format="uri")),
    _("The short link, if the message had one."),
    None,
)
CREATED = Field("created_at", time(), _("When it was accepted."), "2026-11-20T10:15:12Z")


def _moment(name: str, words: StrOrPromise, example: str | None) -> Field:
    return Field(name, nullable(time()), words, example)


MESSAGE = Shape(
    "Message",
    (
        MESSAGE_ID,
        KIND,
        NUMBER,
        USED_CHANNEL,
        STATUS,
        Field(
            "error",
            nullable(text()),
            _("The error code, if it was not delivered."),
            None,
        ),
        Field(
            "cost",
            integer(0),
            _("The price of the delivery in tokens."),
            1,
        ),
        Field(
            "segments",
            nullable(integer(1)),
            _("SMS segments; `null` on other channels."),
            None,
        ),
        LINK,
        TEST,
        REQUEST_ID,
        CREATED,
        _moment("sent_at", _("When it was handed over."), "2026-11-20T10:15:13Z"),
        _moment("delivered_at", _("When it was delivered."), "2026-11-20T10:15:14Z"),
        _moment("read_at", _("When it was read."), None),
        _moment("finished_at", _("When it was over."), "2026-11-20T10:15:14Z"),
    ),
)

RECEIPT = Shape(
    "Receipt",
    (
        Field(
            "status",
            choice(RECEIPT_STATUSES, "ReceiptStatus"),
            _("What the provider reported, in our words."),
            "delivered",
        ),
        Field(
            "provider_status",
            text(),
            _("The provider's own word."),
            "delivered",
        ),
        Field(
            "error_code",
            nullable(text()),
            _("The provider's error code."),
            None,
        ),
        _moment("at", _("When it was so."), "2026-11-20T10:15:14Z"),
        Field(
            "received_at",
            time(),
            _("When we were told."),
            "2026-11-20T10:15:14Z",
        ),
    ),
)

ATTEMPT = Shape(
    "Attempt",
    (
        USED_CHANNEL,
        Field(
            "provider",
            text(),
            _("The provider it went through."),
            "whatsapp_cloud",
        ),
        Field(
            "status",
            choice(list(Attempt.State.values), "AttemptStatus"),
            _("What became of the attempt."),
            "delivered",
        ),
        Field(
            "error_code",
            nullable(text()),
            _(
                "The provider's error code; `patience` where the wait was over and another channel "
                "was tried."
            ),
            None,
        ),
        Field("started_at", time(), _("When it began."), "2026-11-20T10:15:12Z"),
        _moment("accepted_at", _("When it was taken."), "2026-11-20T10:15:13Z"),
        _moment(
            "finished_at", pgettext_lazy("attempt", "When it was over."), "2026-11-20T10:15:14Z"
        ),
        Field(
            "receipts",
            array(),
            _("The provider's receipts, in order."),
            fields=RECEIPT,
        ),
    ),
)

TURN = Shape(
    "FallbackStep",
    (
        Field(
            "event",
            choice(list(FallbackReason), "FallbackEvent"),
            _(
                "Went on to the channel: `patience`, the last one proved no delivery in time; "
                "`refused`, it did not deliver. Did not: `tokens`, there were too few; `time`, too "
                "late. Called it off: `late`, the last one delivered after all; `code_entered`; "
                "`click`. `owed`: the last one delivered, but the channel had the message already."
            ),
            "refused",
        ),
        Field("channel", CHANNEL_NAMES, _("The channel in question."), "sms"),
        Field("at", time(), _("When."), "2026-11-20T10:15:13Z"),
    ),
)

MESSAGE_DETAILS = Shape(
    "MessageDetails",
    (
        Field(
            "timeline",
            array(),
            _("The attempts to deliver it, in order."),
            fields=ATTEMPT,
        ),
        _moment(
            "opened_at",
            _("When the person first opened the link in it; previews and scanners do not count."),
            None,
        ),
        Field(
            "fallback",
            array(),
            _("What was decided of further channels; empty where there was nothing to decide."),
            fields=TURN,
        ),
    ),
    base=MESSAGE,
)

TEST_MESSAGE = Shape(
    "TestMessage",
    (
        MESSAGE_ID,
        KIND,
        NUMBER,
        USED_CHANNEL,
        STATUS,
        Field(
            "text",
            nullable(text()),
            _("The text of the message."),
            message_samples.STANDARD,
        ),
        Field("code", nullable(text()), _("The code itself."), "482915"),
        LINK,
        CREATED,
    ),
)

CHANNEL = Shape(
    "ChannelInfo",
    (
        Field("channel", CHANNEL_NAMES, _("The channel."), "whatsapp"),
        Field("name", text(), _("Its name for people."), "WhatsApp"),
        Field(
            "price",
            integer(1),
            _("Tokens per delivered message."),
            1,
        ),
        Field("available", boolean(), _("Whether it can be used."), True),
        Field(
            "capabilities",
            array(choice([one.value for one in Content], "Capability")),
            _("What it can carry."),
            [one.value for one in Content],
        ),
    ),
)

FILTERS = (
    Field(
        "phone",
        text(),
        _("The number, in any spelling."),
        required=False,
    ),
    Field("channel", CHANNEL_NAMES, _("The channel."), required=False),
    Field(
        "status",
        MESSAGE_STATUSES,
        _("The status."),
        required=False,
    ),
    Field("kind", KIND.schema, _("A code or a link."), required=False),
    Field(
        "from",
        time_or_day(),
        _("From when, ISO 8601, inclusive."),
        required=False,
    ),
    Field(
        "to",
        time_or_day(),
        _("Until when, ISO 8601, exclusive."),
        required=False,
    ),
    LIMIT,
    CURSOR,
)
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
    message=WORDS["messages"],
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
    message=WORDS["message"],
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
    message=WORDS["test"],
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
    message=WORDS["channels"],
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
