"""The cabinet's search: each package registers its sources and pages at start.

A source makes one bounded, indexed query within the member's company, and finds nothing that the
member's role may not open.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Q
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET

from accounts.models import ApiKey, Member
from accounts.people.cabinet_access import (
    Allows,
    CabinetRequest,
    anyone,
    can_manage_keys,
    can_manage_members,
    can_read_settings,
    can_read_technical_pages,
    member_required,
)
from accounts.people.phone_visibility import may_search, text_for
from api.models import ApiRequest
from cabinet import request_views
from catalogue.ids import parse_id
from catalogue.texts import StrOrPromise
from parsing.characters import one_line
from webhooks.models import Delivery, Endpoint

MAX_QUERY_LENGTH = 200  # characters of a query
MAX_HITS = 5  # of one source
MIN_WORD_LENGTH = 2  # letters; a single one matches every name
MAX_KEYS = 500  # the newest keys of a company, which are searched: ended ones are kept


@dataclass(frozen=True, slots=True)
class Hit:
    title: str
    url: str
    detail: StrOrPromise = ""
    is_exact: bool = False  # the query is its id or number


@dataclass(frozen=True, slots=True)
class Source:
    title: StrOrPromise
    find: Callable[[Member, str], list[Hit]]
    allows: Allows = anyone


@dataclass(frozen=True, slots=True)
class Page:
    """A page found by its title, or by related words."""

    name: str  # of its URL
    title: StrOrPromise
    words: StrOrPromise = ""  # separated by commas
    allows: Allows = anyone

    def matches(self, text: str) -> bool:
        """Whether title or words match in any of the service's languages.

        People type the word that they know.
        """
        return any(self._matches_in(language, text) for language, _name in settings.LANGUAGES)

    def _matches_in(self, language: str, text: str) -> bool:
        with translation.override(language):
            names = [str(self.title), *str(self.words).split(",")]
        return any(_begins_a_word(name.strip().lower(), text) for name in names if name)


@dataclass(frozen=True, slots=True)
class Group:
    title: StrOrPromise
    hits: list[Hit]


_sources: list[Source] = []
_pages: list[Page] = []


def register(pages: Iterable[Page], *sources: Source) -> None:
    _pages.extend(pages)
    _sources.extend(sources)


def find(member: Member, text: str) -> list[Group]:
    """Groups of hits that this member may open, those with exact hits first; none for an empty
    text.
    """
    query = clean(text)
    groups = [group for group in _groups(member, query) if group.hits] if query else []
    return sorted(groups, key=lambda group: not any(hit.is_exact for hit in group.hits))


def clean(text: str) -> str:
    """The text as one line, cut to a length that no id exceeds."""
    return one_line(text)[:MAX_QUERY_LENGTH]


def only_exact(groups: list[Group]) -> Hit | None:
    """The hit to open at once: the only one whose id or number was searched for."""
    exact = [hit for group in groups for hit in group.hits if hit.is_exact]
    return exact[0] if len(exact) == 1 else None


def _groups(member: Member, text: str) -> Iterator[Group]:
    query = text.lower()
    pages = (page for page in _pages if page.allows(member) and page.matches(query))
    yield Group(_("Pages"), [Hit(str(page.title), reverse(page.name)) for page in pages][:MAX_HITS])
    for source in _sources:
        if source.allows(member):
            yield Group(source.title, source.find(member, text)[:MAX_HITS])


def _begins_a_word(name: str, text: str) -> bool:
    return name.startswith(text) or f" {text}" in name


def keys(member: Member, text: str) -> list[Hit]:
    rows = member.company.api_keys.order_by("-id")[:MAX_KEYS]
    url = reverse("key-list")
    return [
        Hit(key.name, f"{url}#key-{key.pk}", f"{key} · {key.get_mode_display()}")
        for key in rows
        if _matches_key(text, key)
    ][:MAX_HITS]


def _matches_key(text: str, key: ApiKey) -> bool:
    """Whether the text is part of the key's name, its shown beginning or end, or the whole key."""
    if len(text) >= MIN_WORD_LENGTH and text.lower() in key.name.lower():
        return True
    start, _dots, end = text.partition("…")
    if end:
        return key.prefix.startswith(start) and key.last4 == end
    begins = len(text) > len("kv_live_") and key.prefix.startswith(text)
    is_whole = text.startswith(key.prefix) and text.endswith(key.last4)
    return begins or is_whole or text == key.last4


def requests(member: Member, text: str) -> list[Hit]:
    return [
        Hit(row.request_id, reverse("request-detail", args=[row.request_id]), _outcome(row), True)
        for row in request_views.with_id(member.company, text.lower())[:MAX_HITS]
    ]


def _outcome(row: ApiRequest) -> str:
    return f"{row.method} {row.path} · {row.status} {row.code}".rstrip()


def webhooks(member: Member, text: str) -> list[Hit]:
    if (delivery := _delivery(member, text.lower())) is not None:
        return [delivery]
    endpoint_id = parse_id("whk", text.lower())
    if endpoint_id is None and (len(text) < MIN_WORD_LENGTH or not may_search(text, member)):
        return []
    condition = Q(pk=endpoint_id) if endpoint_id else Q(url__icontains=text)
    rows = Endpoint.objects.for_company(member.company_id).filter(condition).order_by("-created_at")
    return [
        Hit(
            text_for(row.url, member),
            reverse("webhook-detail", args=[row.public_id]),
            row.get_mode_display(),
            endpoint_id is not None,
        )
        for row in rows[:MAX_HITS]
    ]


def _delivery(member: Member, text: str) -> Hit | None:
    delivery_id = parse_id("dlv", text)
    if delivery_id is None:
        return None
    rows = Delivery.objects.filter(pk=delivery_id, endpoint__company=member.company_id)
    row = rows.select_related("event").first()
    if row is None:
        return None
    kind = row.event.get_kind_display()
    return Hit(text, reverse("delivery-detail", args=[row.public_id]), kind, is_exact=True)


def members(member: Member, text: str) -> list[Hit]:
    if len(text) < MIN_WORD_LENGTH:
        return []
    condition = Q(user__email__icontains=text) | Q(user__name__icontains=text)
    rows = member.company.members.filter(condition).select_related("user").order_by("pk")
    return [
        Hit(row.user.email, _page_of(row, member), row.get_role_display())
        for row in rows[:MAX_HITS]
    ]


def _page_of(member: Member, reader: Member) -> str:
    if can_manage_members(reader):
        return reverse("member-role", args=[member.pk])
    return reverse("member-list")


SOURCES = (
    Source(_("API keys"), keys, can_read_technical_pages),
    Source(_("Requests"), requests, can_read_technical_pages),
    Source(_("Webhooks"), webhooks, can_read_technical_pages),
    Source(_("Members"), members, can_read_settings),
)

PAGES = (
    Page("key-list", _("API keys"), _("key, token, authorization"), can_read_technical_pages),
    Page("key-create", _("New API key"), _("create a key, add a key"), can_manage_keys),
    Page(
        "key-create-client",
        _("Key for another service's client"),
        _("Twilio, drop-in, migrate, change one line"),
        can_manage_keys,
    ),
    Page(
        "request-list",
        _("Requests"),
        _("request log, API errors, refusals"),
        can_read_technical_pages,
    ),
    Page(
        "webhook-list",
        _("Webhooks"),
        _("callbacks, endpoints, events, notifications to a server"),
        can_read_technical_pages,
    ),
    Page(
        "hook-list",
        _("Identity servers"),
        _("Supabase, Keycloak, Logto, Zitadel, authentik, Ory, sign-in server"),
        can_read_technical_pages,
    ),
    Page("webhook-create", _("New webhook endpoint"), _("add a webhook"), can_manage_keys),
    Page(
        "settings",
        _("Settings"),
        _("country, brand, limits, channel, fallback, code length, tags, UTM, host"),
        can_read_settings,
    ),
    Page("member-list", _("Members"), _("people, team, colleagues, roles"), can_read_settings),
    Page("member-invite", _("Invite a member"), _("add a member"), can_manage_members),
    Page("audit-list", _("Audit log"), _("history of changes, who changed"), can_manage_keys),
    Page("csv-files", _("CSV files"), _("exports, downloads, long lists"), anyone),
    Page("profile", _("Profile"), _("my name, language, time zone, keyboard shortcuts"), anyone),
    Page("account_email", _("E-mail"), _("my address, change the e-mail"), anyone),
    Page("account_change_password", _("Password"), _("change the password"), anyone),
    Page("mfa_index", _("Two-step sign-in"), _("2FA, authenticator, passkey, TOTP"), anyone),
    Page("session-list", _("Sessions"), _("devices, sign out everywhere"), anyone),
    Page("docs", _("Documentation"), _("docs, manual, help, quickstart"), anyone),
)


@require_GET
@member_required()
def search(request: CabinetRequest) -> HttpResponse:
    text = clean(request.GET.get("q", ""))
    groups = find(request.member, text)
    if hit := only_exact(groups):
        return redirect(hit.url)
    return render(request, "cabinet/search.html", {"query": text, "groups": groups})


@require_GET
@member_required()
def search_suggestions(request: CabinetRequest) -> HttpResponse:
    text = clean(request.GET.get("q", ""))
    groups = find(request.member, text)
    count = sum(len(group.hits) for group in groups)
    context = {"query": text, "groups": groups, "count": count}
    return render(request, "cabinet/search_suggestions.html", context)
