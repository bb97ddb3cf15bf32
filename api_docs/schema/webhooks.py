"""What the service posts to a company's endpoints, as the schema's `webhooks`."""

from typing import Any

from django.utils.translation import gettext_lazy as _

from accounts.api.fields import Schema, text
from accounts.models import EventKind
from accounts.webhooks.event_declarations import declaration_of
from api_docs.schema import webhook_examples
from api_docs.schema.components import Components
from api_docs.schema.webhook_payloads import payload_shape
from config.texts import StrOrPromise

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
TAKEN = _("Accepted. Any other response counts as a failure, and the event is sent again.")
GONE = _("The endpoint is gone: it is disabled and receives no more events.")


def posts(tag: str) -> dict[str, Any]:
    return {kind.value: {"post": _post(kind, tag)} for kind in EventKind}


def _post(kind: EventKind, tag: str) -> dict[str, Any]:
    declaration = declaration_of(kind)
    schema = Components().object_of(payload_shape(declaration))
    example = webhook_examples.whole(kind)
    return {
        "operationId": _name(kind),
        "summary": kind.value,
        "description": str(declaration.kinds[kind]),
        "tags": [tag],
        "security": [],
        "parameters": [
            {
                "name": name,
                "in": "header",
                "required": True,
                "description": str(words),
                "schema": schema,
            }
            for name, words, schema in HEADERS
        ],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": schema, "example": example}},
        },
        "responses": {
            "2XX": {"description": str(TAKEN)},
            "410": {"description": str(GONE)},
        },
    }


def _name(kind: EventKind) -> str:
    """`message.delivered` as an operation's id: `onMessageDelivered`."""
    words = kind.value.replace(".", "_").split("_")
    return "on" + "".join(word.title() for word in words)
