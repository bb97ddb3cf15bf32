"""A company's links as rows of a spreadsheet."""

from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from accounts.api import pagination
from accounts.models import Member
from accounts.people.phone_masking import text_for
from links.models import Link
from links.web.forms import STATES

BATCH_SIZE = 1000
MAX_ROWS = 1_000_000  # and a heading: the most a sheet holds
_STATES = dict(STATES)


def rows_of(
    links: QuerySet[Link], member: Member, history: QuerySet[Link] | None = None
) -> Iterator[list[str | int]]:
    """Batch after batch, while the reader takes them; no connection is held in between."""
    yield [
        pgettext("link", "Created"),
        _("Short link"),
        _("Where it leads"),
        _("State"),
        _("Expires"),
        _("Clicks by people"),
        _("Previews"),
        _("Scanners"),
        _("First click"),
        _("Last click"),
    ]
    rows = islice(_in_batches(links, history), MAX_ROWS)
    yield from (_cells(link, member) for link in rows)


def _in_batches(links: QuerySet[Link], history: QuerySet[Link] | None) -> Iterator[Link]:
    for batch in pagination.batches(links, BATCH_SIZE, history=history):
        yield from batch


def _cells(link: Link, member: Member) -> list[str | int]:
    return [
        _moment(link.created_at),
        text_for(link.short_url, member),
        text_for(link.url, member),
        str(_STATES[link.state]),
        _moment(link.expires_at),
        link.clicks,
        link.previews,
        link.scanners,
        _moment(link.first_click_at),
        _moment(link.last_click_at),
    ]


def _moment(at: datetime | None) -> str:
    return timezone.localtime(at).strftime("%Y-%m-%d %H:%M:%S") if at else ""
