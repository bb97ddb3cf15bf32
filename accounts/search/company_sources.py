"""The company's keys, requests, webhooks and members as the cabinet's search finds them."""

from datetime import timedelta

from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from accounts.models import ApiKey, ApiRequest, Delivery, Endpoint, Member, Mode
from accounts.people.phone_masking import may_search, text_for
from accounts.people.roles import (
    anyone,
    can_manage_keys,
    can_manage_members,
    can_read_keys,
    can_read_settings,
)
from accounts.search.sources import MOST_HITS, Hit, Page, Source, register_pages, register_source
from config.ids import parse_id, started_at

SHORTEST_WORD = 2  # letters; one is in every name
MOST_KEYS = 500  # of a company, the newest: ended ones are kept
AROUND = timedelta(minutes=1)  # between the time in an id and that of its request


def register() -> None:
    register_pages(*PAGES)
    for source in SOURCES:
        register_source(source)


def keys(member: Member, text: str) -> list[Hit]:
    rows = member.company.api_keys.order_by("-id")[:MOST_KEYS]
    url = reverse("key-list")
    return [
        Hit(key.name, f"{url}#key-{key.pk}", f"{key} · {key.get_mode_display()}")
        for key in rows
        if _names_key(text, key)
    ][:MOST_HITS]


def _names_key(text: str, key: ApiKey) -> bool:
    """By its name, its end, its beginning, both as the cabinet shows them, or the whole key."""
    if len(text) >= SHORTEST_WORD and text.lower() in key.name.lower():
        return True
    start, _dots, end = text.partition("…")
    if end:
        return key.prefix.startswith(start) and key.last4 == end
    begins = len(text) > len("kv_live_") and key.prefix.startswith(text)
    is_whole = text.startswith(key.prefix) and text.endswith(key.last4)
    return begins or is_whole or text == key.last4


def requests(member: Member, text: str) -> list[Hit]:
    """`request_id` has no index: the time in it does."""
    wanted = text.lower()
    at = started_at(wanted)
    if at is None:
        return []
    around = (at - AROUND, at + AROUND)
    rows = ApiRequest.objects.filter(
        company=member.company_id, mode__in=Mode.values, created_at__range=around
    )
    return [
        Hit(one.request_id, reverse("request-detail", args=[one.request_id]), _outcome(one), True)
        for one in rows.filter(request_id=wanted)[:MOST_HITS]
    ]


def _outcome(one: ApiRequest) -> str:
    return f"{one.method} {one.path} · {one.status} {one.code}".rstrip()


def webhooks(member: Member, text: str) -> list[Hit]:
    if (delivery := _delivery(member, text.lower())) is not None:
        return [delivery]
    endpoint_id = parse_id("whk", text.lower())
    if endpoint_id is None and (len(text) < SHORTEST_WORD or not may_search(text, member)):
        return []
    named = Q(pk=endpoint_id) if endpoint_id else Q(url__icontains=text)
    rows = Endpoint.objects.of(member.company_id).filter(named).order_by("-created_at")
    return [
        Hit(
            text_for(one.url, member),
            reverse("webhook-detail", args=[one.public_id]),
            one.get_mode_display(),
            endpoint_id is not None,
        )
        for one in rows[:MOST_HITS]
    ]


def _delivery(member: Member, text: str) -> Hit | None:
    delivery_id = parse_id("dlv", text)
    if delivery_id is None:
        return None
    rows = Delivery.objects.filter(pk=delivery_id, endpoint__company=member.company_id)
    one = rows.select_related("event").first()
    if one is None:
        return None
    kind = one.event.get_kind_display()
    return Hit(text, reverse("delivery-detail", args=[one.public_id]), kind, is_exact=True)


def members(member: Member, text: str) -> list[Hit]:
    if len(text) < SHORTEST_WORD:
        return []
    named = Q(user__email__icontains=text) | Q(user__name__icontains=text)
    rows = member.company.members.filter(named).select_related("user").order_by("pk")
    return [
        Hit(one.user.email, _page_of(one, member), one.get_role_display())
        for one in rows[:MOST_HITS]
    ]


def _page_of(one: Member, reader: Member) -> str:
    if can_manage_members(reader):
        return reverse("member-role", args=[one.pk])
    return reverse("member-list")


SOURCES = (
    Source(_("API keys"), keys, can_read_keys),
    Source(_("Requests"), requests, can_read_keys),
    Source(_("Webhooks"), webhooks, can_read_keys),
    Source(_("Members"), members, can_read_settings),
)

PAGES = (
    Page("key-list", _("API keys"), _("key, token, authorization"), can_read_keys),
    Page("key-create", _("New API key"), _("create a key, add a key"), can_manage_keys),
    Page("request-list", _("Requests"), _("request log, API errors, refusals"), can_read_keys),
    Page(
        "webhook-list",
        _("Webhooks"),
        _("callbacks, endpoints, events, notifications to a server"),
        can_read_keys,
    ),
    Page("webhook-create", _("New webhook endpoint"), _("add a webhook"), can_manage_keys),
    Page(
        "settings",
        _("Settings"),
        _("country, brand, limits, channel, fallback, code length"),
        can_read_settings,
    ),
    Page("member-list", _("Members"), _("people, team, colleagues, roles"), can_read_settings),
    Page("member-invite", _("Invite a member"), _("add a member"), can_manage_members),
    Page("audit-list", _("Audit log"), _("history of changes, who changed"), can_manage_keys),
    Page("profile", _("Profile"), _("my name, language, time zone, keyboard shortcuts"), anyone),
    Page("account_email", _("E-mail"), _("my address, change the e-mail"), anyone),
    Page("account_change_password", _("Password"), _("change the password"), anyone),
    Page("mfa_index", _("Two-step sign-in"), _("2FA, authenticator, passkey, TOTP"), anyone),
    Page("session-list", _("Sessions"), _("devices, sign out everywhere"), anyone),
    Page("docs", _("Documentation"), _("docs, manual, help, quickstart"), anyone),
)
