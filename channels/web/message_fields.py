"""The fields of messages, channels and test messages in responses."""

from typing import Any

from django.utils.translation import gettext_lazy as _

from api.calls import (
    REQUEST_ID,
    TEST,
    Field,
    Shape,
    array,
    body_of,
    boolean,
    choice,
    integer,
    moment,
    nullable,
    text,
    time,
)
from catalogue.channels import by_stored_name
from channels import extensions
from channels.history.route_text import route_text
from channels.lifecycle.snapshots import FallbackReason
from channels.models import Attempt, Message, stored_fields
from channels.providers.base import Content
from channels.providers.inbound import ReceiptState
from channels.web.fields import CHANNEL_NAMES, MESSAGE_ID, REQUESTED_LOCALE, STATUS, USED_CHANNEL

NOT_DELIVERED = {ReceiptState.UNREACHABLE, ReceiptState.BARRED}  # shown to clients as failed
RECEIPT_STATUSES = [state.value for state in ReceiptState if state not in NOT_DELIVERED]

KIND = Field(
    "kind",
    choice(list(Message.Kind.values), "MessageKind"),
    _("What the message carries: a code or a link."),
    "code",
)
NUMBER = Field(
    "phone",
    text(pattern=r"^\+[0-9]+\*?$"),
    _(
        "The recipient's phone number in E.164 format. In old messages, only its beginning "
        "followed by `*`."
    ),
    "+79990000000",
)
LINK = Field(
    "short_url",
    nullable(text(format="uri")),
    _("The short link in the message, if any."),
    source=lambda message: message.params.get("short_url"),
)
CREATED = Field("created_at", time(), _("When the message was created."), "2026-11-20T10:15:12Z")


def _segments(message: Message) -> int | None:
    return message.segments if by_stored_name(message.channel).has_segments else None


METADATA = Field(
    "metadata",
    nullable({"type": "object", "additionalProperties": {"type": "string"}}),
    _("Your own strings, as the send named them."),
    source=lambda message: message.params.get("metadata"),
)
DOOR = Field(
    "door",
    nullable(text()),
    _(
        "Where the message came from, if not from this API or the cabinet: the client of "
        "another service, such as `twilio`, or an identity server, such as `supabase`."
    ),
    None,
    source=lambda message: message.source_api or None,
)


MESSAGE = Shape(
    "Message",
    (
        MESSAGE_ID,
        KIND,
        NUMBER,
        USED_CHANNEL,
        STATUS,
        Field("error", nullable(text()), _("The error code, if the message was not delivered.")),
        Field("cost", integer(0), _("The price of delivery, in tokens."), 1, source="price"),
        Field(
            "segments",
            nullable(integer(1)),
            _("The number of SMS segments; `null` for other channels."),
            source=_segments,
        ),
        LINK,
        REQUESTED_LOCALE,
        DOOR,
        *(field.shown for field in stored_fields.FIELDS),
        METADATA,
        TEST,
        REQUEST_ID,
        CREATED,
        moment("sent_at", _("When the message was sent to the provider."), "2026-11-20T10:15:13Z"),
        moment("delivered_at", _("When the message was delivered."), "2026-11-20T10:15:14Z"),
        moment("read_at", _("When the message was read."), None),
        moment(
            "finished_at", _("When the message reached its final status."), "2026-11-20T10:15:14Z"
        ),
    ),
)


RECEIPT = Shape(
    "Receipt",
    (
        Field(
            "status",
            choice(RECEIPT_STATUSES, "ReceiptStatus"),
            _("The status reported by the provider, mapped to our statuses."),
            "delivered",
            source=lambda receipt: "failed" if receipt.state in NOT_DELIVERED else receipt.state,
        ),
        Field(
            "provider_status",
            text(),
            _("The status exactly as the provider reported it."),
            "delivered",
            source="vendor_status",
        ),
        Field("error_code", nullable(text()), _("The error code reported by the provider.")),
        moment(
            "at", _("When the status changed, according to the provider."), "2026-11-20T10:15:14Z"
        ),
        Field("received_at", time(), _("When the receipt was received."), "2026-11-20T10:15:14Z"),
    ),
)

ATTEMPT = Shape(
    "Attempt",
    (
        USED_CHANNEL,
        Field("provider", text(), _("The provider that carried the attempt."), "whatsapp_cloud"),
        Field(
            "status",
            choice(list(Attempt.State.values), "AttemptStatus"),
            _("The status of the attempt."),
            "delivered",
            source="state",
        ),
        Field(
            "error_code",
            nullable(text()),
            _(
                "The error code reported by the provider; `patience` if no receipt arrived in time "
                "and another channel was tried."
            ),
        ),
        Field("started_at", time(), _("When the attempt started."), "2026-11-20T10:15:12Z"),
        moment("accepted_at", _("When the provider accepted the attempt."), "2026-11-20T10:15:13Z"),
        moment("finished_at", _("When the attempt ended."), "2026-11-20T10:15:14Z"),
        Field(
            "receipts",
            array(),
            _("The delivery receipts from the provider, oldest first."),
            fields=RECEIPT,
            source=lambda attempt: [body_of(row, RECEIPT) for row in attempt.receipts.all()],
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
                "Why the channel was or was not used. Falling back to it: `patience`, the previous "
                "channel did not confirm delivery in time; `refused`, the previous channel did not "
                "deliver; `requested`, you asked for the next channel. Not falling back: `tokens`, "
                "too few tokens; `time`, too little time left; `budget`, a budget does not allow "
                "it; `taken`, a newer message uses it. Canceling it: `late`, the previous "
                "channel or a newer message delivered; `code_entered`, the code was entered; "
                "`click`, the link was opened; `cancelled`, the code is no longer valid: it was "
                "canceled, replaced or out of attempts, or the link was disabled; "
                "`blocked`, the person replied STOP. "
                "`owed`: the previous channel delivered, but the message had already been sent "
                "through this one."
            ),
            "refused",
            source="reason",
        ),
        Field("channel", CHANNEL_NAMES, _("The channel that the decision is about."), "sms"),
        Field("at", time(), _("When the decision was made."), "2026-11-20T10:15:13Z"),
    ),
)


def _route(message: Message) -> dict[str, Any] | None:
    route = message.params.get("route")
    if not route:
        return None
    return {
        "arm": route.get("arm"),
        "reason": route_text(route),
        "plan": [
            {"channel": channel, "patience": patience}
            for channel, patience in route.get("plan") or []
        ],
        "alternatives": route.get("alternatives") or [],
    }


MESSAGE_DETAILS = Shape(
    "MessageDetails",
    (
        Field(
            "route",
            nullable({"type": "object", "additionalProperties": True}),
            _(
                "How smart routing chose the channels; `null` for messages sent without it. `arm`: "
                "`smart`, or `hold_out` for the codes that follow the company's own order, so that "
                "the saving can be measured; `reason`: why, in words; `plan`: channels in their "
                "order with the seconds each had to prove delivery; `alternatives`: other orders "
                "with the tokens they were expected to cost."
            ),
            source=_route,
        ),
        Field(
            "timeline",
            array(),
            _("The attempts to deliver the message, oldest first."),
            fields=ATTEMPT,
            source=lambda message: [body_of(row, ATTEMPT) for row in message.attempts.all()],
        ),
        Field(
            "opened_at",
            nullable(time()),
            _(
                "When a person first opened the link in the message; previews and scanners are not "
                "counted."
            ),
            None,
            source=lambda message: extensions.kinds[message.kind].opened_at(message),
        ),
        Field(
            "fallback",
            array(),
            _(
                "The decisions about falling back to further channels, oldest first; empty if "
                "there were none."
            ),
            fields=FALLBACK_EVENT,
            source=lambda message: [
                body_of(event, FALLBACK_EVENT) for event in message.fallback_events.all()
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
        Field("code", nullable(text()), _("The one-time code."), "482915"),
        LINK,
        CREATED,
    ),
)

CHANNEL = Shape(
    "ChannelInfo",
    (
        Field("channel", CHANNEL_NAMES, _("The channel."), "whatsapp"),
        Field("name", text(), _("The display name of the channel."), "WhatsApp"),
        Field("price", integer(1), _("The price of a delivered message, in tokens."), 1),
        Field("available", boolean(), _("Whether the channel is available now."), True),
        Field(
            "capabilities",
            array(choice([content.value for content in Content], "Capability")),
            _("What the channel can carry."),
            [content.value for content in Content],
        ),
    ),
)
