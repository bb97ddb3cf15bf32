"""The events of messages. `channels.sql.APPEND_MESSAGE_EVENTS` writes them."""

from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext_lazy as _

from accounts.models import EventKind
from accounts.webhooks.events import EXAMPLE_PHONE, EventDeclaration, iso
from channels.web.message_fields import MESSAGE


def _example(kind: EventKind, subject: str, now: datetime) -> dict[str, Any]:
    status = kind.removeprefix("message.")
    is_over, is_sent = status != "sent", status in {"sent", "delivered"}
    return {
        "id": f"msg_{subject}",
        "kind": "code",
        "phone": EXAMPLE_PHONE,
        "channel": "whatsapp",
        "status": status,
        "error": "recipient_unreachable" if status == "failed" else None,
        "cost": 1,
        "segments": None,
        "short_url": None,
        "request_id": "req_6f1d2c3b4a59687766aa00",
        "created_at": iso(now - timedelta(seconds=3)),
        "sent_at": iso(now - timedelta(seconds=2)) if is_sent else None,
        "delivered_at": iso(now) if status == "delivered" else None,
        "finished_at": iso(now) if is_over else None,
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
    tuple(field for field in MESSAGE if field.name not in {"read_at", "test"}),
    _example,
)
