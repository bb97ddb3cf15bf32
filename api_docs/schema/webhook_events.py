"""The events in the schema's `webhooks`, an example of each, and one signed example."""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

from django.utils.translation import gettext_lazy as _

from api.calls import Field, Schema, Shape, identifier, text, time
from api_docs.schema.components import Components
from catalogue.ids import parse_id
from catalogue.texts import StrOrPromise
from webhooks import deliveries, http_call, signing
from webhooks.events import EventDeclaration, declaration_of
from webhooks.models import EventKind

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105 - published for tests of clients
EVENT_ID = "evt_0192f0c1a6dd7b5c8d6e7f8091021324"
SIGNED_AT = datetime(2026, 11, 20, 10, 15, 14, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SignedExample:
    headers: dict[str, str]
    body: str
    secret: str


@cache
def data_of(kind: EventKind) -> dict[str, Any]:
    """The data of an example event, generated once, so that the page does not change."""
    data = deliveries.example(kind.value, is_test=False)
    return {name: value for name, value in data.items() if name != "example"}


@cache
def signed_example() -> SignedExample:
    """A small event signed with a published secret, to test a client's verification."""
    event_id = parse_id("evt", EVENT_ID)
    assert event_id is not None  # noqa: S101 - it is written above
    data = {"available": 96, "threshold": 100, "test": False}
    body = http_call.body_of(event_id, EventKind.BALANCE_LOW.value, SIGNED_AT, data)
    headers = signing.headers([SECRET], EVENT_ID, body, SIGNED_AT)
    return SignedExample(headers, body.decode(), SECRET)


def body_of(kind: EventKind) -> dict[str, Any]:
    """The body of an example webhook."""
    return {
        "id": EVENT_ID,
        "type": kind.value,
        "timestamp": "2026-11-20T10:15:14Z",
        "data": data_of(kind),
    }


EVENT = Shape(
    "Event",
    (
        Field(
            "id",
            identifier("evt"),
            _(
                "The event's id, also sent in the header `webhook-id`. It is the same in every "
                "retry."
            ),
        ),
        Field("type", text(), _("The type of the event. New types may be added.")),
        Field("timestamp", time(), _("When the event occurred.")),
    ),
)


def payload_shape(declaration: EventDeclaration) -> Shape:
    """The shape of a declared event, with its data."""
    kinds = [kind.value for kind in declaration.kinds]
    return Shape(
        declaration.name,
        (
            Field("type", text(enum=kinds), _("The type of the event.")),
            Field(
                "data",
                {"type": "object"},
                _("The object that the event is about."),
                fields=declaration.data,
            ),
        ),
        base=EVENT,
    )


HEADERS: tuple[tuple[str, StrOrPromise, Schema], ...] = (
    (
        "webhook-id",
        _("The event's id. It is the same in every retry; use it to ignore duplicates."),
        text(minLength=1),
    ),
    (
        "webhook-timestamp",
        _("When this delivery was attempted, as a Unix timestamp in seconds."),
        text(pattern=r"^\d+$"),
    ),
    (
        "webhook-signature",
        _("Standard Webhooks signatures, separated by spaces, each starting with `v1,`."),
        text(pattern=r"^v1,\S+( v1,\S+)*$"),
    ),
)
ACCEPTED = _("Accepted. Any other response counts as a failure, and the event is sent again.")
GONE = _("The endpoint is gone: it is disabled and receives no more events.")


def posts(tag: str) -> dict[str, Any]:
    return {kind.value: {"post": _post(kind, tag)} for kind in EventKind}


def _post(kind: EventKind, tag: str) -> dict[str, Any]:
    declaration = declaration_of(kind)
    schema = Components().object_of(payload_shape(declaration))
    example = body_of(kind)
    return {
        "operationId": _operation_id(kind),
        "summary": kind.value,
        "description": str(declaration.kinds[kind]),
        "tags": [tag],
        "security": [],
        "parameters": [
            {
                "name": name,
                "in": "header",
                "required": True,
                "description": str(text),
                "schema": schema,
            }
            for name, text, schema in HEADERS
        ],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": schema, "example": example}},
        },
        "responses": {"2XX": {"description": str(ACCEPTED)}, "410": {"description": str(GONE)}},
    }


def _operation_id(kind: EventKind) -> str:
    """The operation id of an event: `onMessageDelivered` for `message.delivered`."""
    parts = kind.value.replace(".", "_").split("_")
    return "on" + "".join(word.title() for word in parts)
