"""The event of people's clicks. `links.clicks.webhooks.APPEND_EVENTS` writes it."""

from datetime import datetime
from typing import Any

from django.utils.translation import gettext_lazy as _

from accounts.api.fields import Field, integer, time
from accounts.models import EventKind
from accounts.webhooks.event_declarations import EventDeclaration, iso
from links.api.fields import LINK_ID, SHORTENED_URL, TARGET


def _example(_kind: EventKind, subject: str, now: datetime) -> dict[str, Any]:
    return {
        "id": f"lnk_{subject}",
        "short_url": "https://example.com/bcdfghjk",
        "url": "https://example.com/orders/77",
        "new_clicks": 1,
        "clicks": 42,
        "clicked_at": iso(now),
    }


CLICK_EVENT = EventDeclaration(
    "LinkClickEvent",
    {
        EventKind.LINK_CLICKED: _(
            "A person opened the link. Previews and scanners are left out, and so is whoever came "
            "before the message could be read. Of a link that opens once: its button was pressed. "
            "`new_clicks` are the clicks of this event, `clicks` all of the link's so far; "
            "while counting is behind, that number may be behind as well."
        )
    },
    (
        LINK_ID,
        SHORTENED_URL,
        TARGET,
        Field("clicks", integer(0), _("Clicks by people in all, as in `GET /links/{id}`.")),
        Field(
            "new_clicks",
            integer(0),
            _("How many of them are new: those that this event tells of."),
        ),
        Field("clicked_at", time(), _("The last of them.")),
    ),
    _example,
)
