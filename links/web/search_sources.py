"""Searches short links for the cabinet by id, short URL or slug, and target host."""

from urllib.parse import urlencode, urlsplit

from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from accounts.models import Member, Mode
from accounts.people.cabinet_access import can_change_settings
from accounts.people.phone_visibility import may_look_up, may_search, text_for
from cabinet.search import MAX_HITS, Hit, Page, Source
from catalogue.ids import parse_id
from channels.recipients import phone_search
from links.addresses import short_hosts
from links.models import Link

SCANNED = 1000  # newest links of each mode; targets have no index, and the list searches further
MIN_HOST_LENGTH = 4  # characters; fewer match most targets
PAGES = (
    Page("link-list", _("Short links"), _("links, clicks, slugs")),
    Page("link-create", _("New short link"), _("shorten, create a link"), can_change_settings),
    Page("link-import", _("Import links from a file"), _("CSV, import links"), can_change_settings),
)


def find(member: Member, text: str) -> list[Hit]:
    links = Link.objects.filter(company=member.company_id)
    if link_id := parse_id("lnk", text.lower()):
        return [_hit(link, member, is_exact=True) for link in links.filter(pk=link_id)]
    slug = text.rstrip("/").rpartition("/")[2]
    if not may_search_slug(slug, member):
        return []
    keys = short_hosts.keys(slug, member.company_id)
    if exact := list(links.filter(key__in=keys, retired_at=None)[:MAX_HITS]):
        # An alias may be an ordinary word, which is no exact hit.
        is_one = len(exact) == 1 and ("/" in text or not exact[0].is_alias)
        return [_hit(link, member, is_exact=is_one) for link in exact]
    return _to_host(links, text, member) if may_search(text, member) else []


def may_search_slug(slug: str, member: Member) -> bool:
    """Whether the member may search for the text as a slug.

    A slug that contains a phone is found like the phone: for members who see it masked, guessing
    slugs reveals no more than guessing numbers.
    """
    if text_for(slug, member) == slug:
        return True
    number = phone_search.whole_number(slug, member.company.country)
    return may_look_up(number or slug, member)


def _hit(link: Link, member: Member, *, is_exact: bool = False) -> Hit:
    url = reverse("link-detail", args=[link.public_id])
    return Hit(text_for(link.short_url, member), url, text_for(link.url, member), is_exact)


def _to_host(links: QuerySet[Link], text: str, member: Member) -> list[Hit]:
    host = _host(text)
    if "." not in host or len(host) < MIN_HOST_LENGTH:
        return []
    hits = [hit for mode in Mode for hit in _in_mode(links.filter(mode=mode), mode, host, member)]
    return hits[:MAX_HITS]


def _in_mode(rows: QuerySet[Link], mode: Mode, host: str, member: Member) -> list[Hit]:
    """The hits among the newest links of a mode: targets have no index.

    The link to the list, which searches further, comes first.
    """
    newest = rows.order_by("-created_at", "-id").values("pk")[:SCANNED]
    is_on_host = Q(url__icontains=f"//{host}") | Q(url__icontains=f".{host}")
    links = list(Link.objects.filter(is_on_host, pk__in=newest))
    if not links:
        return []
    query = urlencode({"mode": mode.value, "search": host})
    title = _("All test links to this site") if mode == Mode.TEST else _("All links to this site")
    everything = Hit(str(title), f"{reverse('link-list')}?{query}", host)
    links.sort(key=lambda link: link.created_at, reverse=True)
    return [everything, *(_hit(link, member) for link in links[: MAX_HITS - 2])]


def _host(text: str) -> str:
    """The host of a target as typed, with or without a scheme and a path."""
    try:
        return (urlsplit(text if "//" in text else f"//{text}").hostname or "").lower()
    except ValueError:
        return ""


SOURCE = Source(_("Short links"), find)
