"""The fields of messages, channels and test messages in responses."""

from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.api.common_fields import REQUEST_ID, TEST
from accounts.api.fields import (
    Field,
    Shape,
    array,
    body_of,
    boolean,
    choice,
    integer,
    nullable,
    text,
    time,
)
from channels import extensions
from channels.lifecycle.steps import FallbackReason
from channels.models import Attempt, Message, Receipt
from channels.providers.base import Content
from channels.providers.inbound import ReceiptState
from channels.web.fields import CHANNEL_NAMES, MESSAGE_ID, STATUS, USED_CHANNEL
from config.channels import of_row
from config.texts import StrOrPromise

RECEIPT_STATUSES = [one.value for one in ReceiptState if one is not ReceiptState.UNREACHABLE]

KIND = Field(
    "kind",
    choice(list(Message.Kind.values), "MessageKind"),
    _("What was sent: a code or a link."),
    "code",
    source="kind",
)
NUMBER = Field(
    "phone",
    text(pattern=r"^\+[0-9]+\*?$"),
    _("The recipient's number, E.164. Of an old message its beginning and `*` alone."),
    "+79990000000",
    source="phone",
)
LINK = Field(
    "short_url",
    nullable(text(format="uri")),
    _("The short link, if the message had one."),
    None,
    source=lambda message: message.params.get("short_url"),
)
CREATED = Field(
    "created_at",
    time(),
    _("When it was accepted."),
    "2026-11-20T10:15:12Z",
    source="created_at",
)


def _moment(name: str, words: StrOrPromise, example: str | None) -> Field:
    return Field(name, nullable(time()), words, example, source=name)


def _segments(message: Message) -> int | None:
    return message.segments if of_row(message.channel).has_segments else None


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
            source=lambda message: message.error or None,
        ),
        Field(
            "cost",
            integer(0),
            _("The price of the delivery in tokens."),
            1,
            source="price",
        ),
        Field(
            "segments",
            nullable(integer(1)),
            _("SMS segments; `null` on other channels."),
            None,
            source=_segments,
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


def _receipt_status(receipt: Receipt) -> str:
    return "failed" if receipt.state == "unreachable" else receipt.state


RECEIPT = Shape(
    "Receipt",
    (
        Field(
            "status",
            choice(RECEIPT_STATUSES, "ReceiptStatus"),
            _("What the provider reported, in our words."),
            "delivered",
            source=_receipt_status,
        ),
        Field(
            "provider_status",
            text(),
            _("The provider's own word."),
            "delivered",
            source="word",
        ),
        Field(
            "error_code",
            nullable(text()),
            _("The provider's error code."),
            None,
            source=lambda receipt: receipt.error_code or None,
        ),
        _moment("at", _("When it was so."), "2026-11-20T10:15:14Z"),
        Field(
            "received_at",
            time(),
            _("When we were told."),
            "2026-11-20T10:15:14Z",
            source="received_at",
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
            source="provider",
        ),
        Field(
            "status",
            choice(list(Attempt.State.values), "AttemptStatus"),
            _("What became of the attempt."),
            "delivered",
            source="state",
        ),
        Field(
            "error_code",
            nullable(text()),
            _(
                "The provider's error code; `patience` where the wait was over and another channel "
                "was tried."
            ),
            None,
            source=lambda attempt: attempt.error_code or None,
        ),
        Field(
            "started_at",
            time(),
            _("When it began."),
            "2026-11-20T10:15:12Z",
            source="started_at",
        ),
        _moment("accepted_at", _("When it was taken."), "2026-11-20T10:15:13Z"),
        _moment(
            "finished_at", pgettext_lazy("attempt", "When it was over."), "2026-11-20T10:15:14Z"
        ),
        Field(
            "receipts",
            array(),
            _("The provider's receipts, in order."),
            fields=RECEIPT,
            source=lambda attempt: [body_of(one, RECEIPT) for one in attempt.receipts.all()],
        ),
    ),
)

FALLBACK_EVENT = Shape(
    "FallbackEvent",
    (
        Field(
            "event",
            choice(list(FallbackReason), "FallbackReason"),
            _(
                "Went on to the channel: `patience`, the last one proved no delivery in time; "
                "`refused`, it did not deliver. Did not: `tokens`, there were too few; `time`, too "
                "late; `budget`, a budget did not allow it. Called it off: `late`, the last one "
                "delivered after all; `code_entered`; `click`. `owed`: the last one delivered, but "
                "the channel had the message already."
            ),
            "refused",
            source="reason",
        ),
        Field(
            "channel",
            CHANNEL_NAMES,
            _("The channel in question."),
            "sms",
            source="channel",
        ),
        Field("at", time(), _("When."), "2026-11-20T10:15:13Z", source="at"),
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
            source=lambda message: [body_of(one, ATTEMPT) for one in message.attempts.all()],
        ),
        Field(
            "opened_at",
            nullable(time()),
            _("When the person first opened the link in it; previews and scanners do not count."),
            None,
            source=extensions.opened_at,
        ),
        Field(
            "fallback",
            array(),
            _("What was decided of further channels; empty where there was nothing to decide."),
            fields=FALLBACK_EVENT,
            source=lambda message: [
                body_of(one, FALLBACK_EVENT) for one in message.fallback_events.all()
            ],
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
            _("Your code is 482915. Do not share it. Shop"),
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
