"""The filter of the list of links, and the list as a spreadsheet."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext

from accounts.models import Member, Mode
from accounts.people.phone_visibility import may_search, text_for
from cabinet.csv_exports import CsvKind, Download, Selection
from catalogue.ids import parse_id
from links.addresses import short_hosts
from links.models import Link
from links.web.forms import STATES, LinkFilter
from links.web.search_sources import may_search_slug
from parsing.days import local_time

_STATES = dict(STATES)


class Matches(NamedTuple):
    rows: QuerySet[Link]
    history: QuerySet[Link] | None  # where a filter without an index searches
    is_hidden: bool = False  # digits of targets, which are masked for this member, are not searched


def matching(
    member: Member, filters: Mapping[str, Any], asked_at: datetime | None = None
) -> Matches:
    """The links that a filter selects. Those named by its text come alone, but not one created
    after `asked_at`: all parts of a file have the same filter.
    """
    history = Link.objects.filter(company=member.company_id, mode=filters.get("mode", Mode.LIVE))
    links = history.with_stops()
    is_indexed = not filters.get("state")
    if state := filters.get("state"):
        links = links.in_state(state)
    if text := filters.get("search", "").strip():
        condition = _named_links(text, member.company_id)
        candidates = Link.objects.filter(condition, company=member.company_id)
        if asked_at:
            candidates = candidates.filter(created_at__lte=asked_at)
        is_indexed = candidates.exists()
        is_readable = _is_readable(text, member) and (is_indexed or may_search(text, member))
        if not is_readable:
            return Matches(links.none(), None, is_hidden=True)
        links = links.filter(condition if is_indexed else Q(url__icontains=text))
    if batch := filters.get("batch"):
        batch_id = parse_id("bat", batch)
        is_indexed = True
        links = links.filter(batch_id=batch_id) if batch_id else links.none()
    return Matches(links, None if is_indexed else history)


def _is_readable(text: str, member: Member) -> bool:
    """Whether the member may look this text up.

    Checked before the lookup, because every try counts, not only hits.
    """
    return parse_id("bat", text) is not None or may_search_slug(_slug(text), member)


def _slug(text: str) -> str:
    return text.rstrip("/").rpartition("/")[2]


def _named_links(text: str, company_id: int) -> Q:
    """The filter for the link of a short URL or slug, or the links of a batch id."""
    if batch_id := parse_id("bat", text):
        return Q(batch_id=batch_id)
    return Q(key__in=short_hosts.keys(_slug(text), company_id), retired_at=None)


class LinksCsv(CsvKind):
    name = "links"
    title = gettext_lazy("Short links")
    page = "link-list"
    action = "links.exported"
    model = Link

    def form(self, query: QueryDict, member: Member) -> LinkFilter:
        return LinkFilter(query)

    def select(self, download: Download) -> Selection:
        matches = matching(download.member, download.filters, download.asked_at)
        return Selection(matches.rows, matches.history)

    def headings(self) -> list[str]:
        return [
            pgettext("link", "Created"),
            _("Short link"),
            _("Destination"),
            _("State"),
            _("Expires"),
            _("Clicks by people"),
            _("Previews"),
            _("Scanners"),
            _("First click"),
            _("Last click"),
        ]

    def cells(self, row: Link, member: Member) -> list[str | int]:
        return [
            local_time(row.created_at),
            text_for(row.short_url, member),
            text_for(row.url, member),
            str(_STATES[row.state]),
            local_time(row.expires_at),
            row.clicks,
            row.previews,
            row.scanners,
            local_time(row.first_click_at),
            local_time(row.last_click_at),
        ]
