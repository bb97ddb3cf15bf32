"""Timeline entries of a message's link."""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from django.utils.translation import gettext as _

from channels.extensions import TimelineEntry
from channels.models import Message
from links.clicks import statistics
from links.models import Link
from storage.statements.queries import select

# Available for as long as clicks are kept.
_BOT_VISITS = """
SELECT kind = 'scanner' AS is_scanner, min(at) AS at, count(*) AS visits FROM links_click
WHERE link_id = %s AND kind <> 'person' GROUP BY 1
"""


class _BotVisits(NamedTuple):
    is_scanner: bool
    at: datetime
    visits: int


def entries(message: Message) -> Iterator[TimelineEntry]:
    """Opens of the message's link, with separate counts of people and bots."""
    link_id = message.params.get("link") or message.subject_id
    link = Link.objects.filter(pk=link_id, message_id=message.pk).first()
    if link is None:
        return
    if link.clicked_at:
        yield TimelineEntry(link.clicked_at, _("The link was opened"), "success")
    yield from _bot_visits(link)


def opened_at(message: Message) -> datetime | None:
    """The first time that a person opened the message's link, if any."""
    link_id = message.params.get("link") or (message.kind == "link" and message.subject_id)
    if not link_id:
        return None
    links = Link.objects.filter(pk=link_id, message_id=message.pk)
    return links.values_list("clicked_at", flat=True).first()


def _bot_visits(link: Link) -> Iterator[TimelineEntry]:
    with statistics.reading_turn(link):
        rows = select(_BotVisits, _BOT_VISITS, [link.pk])
    for row in rows:
        title = _("A scanner looked at the link") if row.is_scanner else _("The link was previewed")
        detail = _("times: %(n)d; not counted as clicks") % {"n": row.visits}
        yield TimelineEntry(row.at, title, detail=detail)
