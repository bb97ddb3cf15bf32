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
            "A person opened the link. Previews, scanners and clicks before the message could "
            "have been read are not counted. For a link that opens once: its button was pressed. "
            "`new_clicks` is the number of clicks in this event, `clicks` the link's total so "
            "far, which may lag behind while clicks are being counted."
        )
    },
    (
        LINK_ID,
        SHORTENED_URL,
        TARGET,
        Field(
            "clicks",
            integer(0),
            _("The total number of clicks by people, as in `GET /links/{id}`."),
        ),
        Field(
            "new_clicks",
            integer(0),
            _("The number of new clicks that this event reports."),
        ),
        Field("clicked_at", time(), _("The time of the last of these clicks.")),
    ),
    _example,
)
