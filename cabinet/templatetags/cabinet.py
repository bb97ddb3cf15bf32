"""Template filters of the cabinet, its notices, shortcuts and tabs, and legal links."""

from collections.abc import Iterator
from datetime import date, datetime
from math import ceil
from typing import Any, NamedTuple
from urllib.parse import quote

from django import template
from django.conf import settings
from django.template.context import Context
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.formats import date_format, localize, number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext, pgettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from accounts.models import Company, Member
from accounts.people import phone_visibility, time_zones
from accounts.people.cabinet_access import (
    Allows,
    anyone,
    can_change_settings,
    can_read_technical_pages,
    can_see_money,
)
from catalogue.languages import page_languages
from catalogue.texts import StrOrPromise
from webhooks.models import DeliveryAttempt

register = template.Library()


@register.filter
def phone_for(phone: str, member: Member | None) -> str:
    return phone_visibility.phone_for(phone, member)


@register.filter
def text_for(text: StrOrPromise, member: Member | None) -> str:
    return phone_visibility.text_for(str(text), member)


@register.filter
def moment(at: datetime | None) -> SafeString:
    """A localised time to the second in a `<time>` element; empty for None."""
    if at is None:
        return SafeString()
    local = timezone.localtime(at)
    text = date_format(local, pgettext("moment", "j M Y, H:i:s"))
    return format_html('<time datetime="{}">{}</time>', local.isoformat("T", "seconds"), text)


@register.filter
def clock(at: datetime) -> SafeString:
    """The time of day, for places that show the day already."""
    local = timezone.localtime(at)
    text = date_format(local, "H:i:s")
    return format_html('<time datetime="{}">{}</time>', local.isoformat("T", "seconds"), text)


@register.filter
def zone(at: datetime) -> str:
    """The abbreviation of the time zone, in the language of the page."""
    name = timezone.localtime(at).tzname() or ""
    return gettext("MSK") if name == "MSK" else name


@register.filter
def time_until(at: datetime) -> str:
    """The time until a moment: «40 с»."""
    seconds = max(1, ceil((at - timezone.now()).total_seconds()))
    return f"{seconds}\u00a0{gettext('s')}" if seconds < 60 else duration_of_ms(1000 * seconds)


@register.filter
def city(time_zone: str) -> str:
    """«Владивосток» for Asia/Vladivostok."""
    return time_zones.city_of(time_zone, get_language() or settings.LANGUAGE_CODE)


@register.filter
def day(at: date) -> str:
    return date_format(at, pgettext("day", "j M"))


@register.filter
def share(percent: float | None) -> str:
    """«97,3 %», or a dash for None."""
    if percent is None:
        return "—"
    digits = 0 if percent in (0, 100) else 1
    # Never rounded up to 100 %.
    rounded = min(percent, 99.9) if percent < 100 else percent
    return _percent(number_format(rounded, digits))


@register.filter
def percent(value: float | None) -> str:
    """«97 %» with all its digits, or a dash for None."""
    if value is None:
        return "—"
    return _percent(str(localize(int(value) if value == int(value) else value)))


def _percent(number: str) -> str:
    space = "" if page_languages.active() == page_languages.worldwide() else "\u00a0"
    return f"{number}{space}%"


@register.filter
def language_title(tag: str) -> str:
    """«португальский (Бразилия)»; an unknown tag is returned unchanged."""
    return page_languages.title(tag)


@register.filter
def duration_of_ms(ms: int | None) -> str:
    """A duration with two digits or three: «63 мс», «1,2 с», «12 с», «3,5 мин»."""
    if ms is None:
        return "—"
    if ms < 1000:
        number = number_format(ms, 0) if ms >= 1 else "<\u00a01"
        return f"{number}\u00a0{gettext('ms')}"
    for size, unit in ((3_600_000, gettext("h")), (60_000, gettext("min")), (1000, gettext("s"))):
        if ms >= size or size == 1000:
            amount = ms / size
            return f"{number_format(amount, 0 if amount >= 10 else 1)}\u00a0{unit}"
    raise AssertionError("seconds are what is left")


@register.filter
def failure(code: str) -> str:
    return str(DeliveryAttempt.Failure(code).label) if code else ""


@register.filter
def response_note(attempt: DeliveryAttempt) -> str:
    """The reason why the receiver's response does not count as accepted."""
    if attempt.status is None or attempt.is_accepted:
        return ""
    is_redirect = 300 <= attempt.status < 400
    if is_redirect:
        return gettext("redirects are not followed")
    return gettext("only 2xx counts as accepted")


class LegalLink(NamedTuple):
    title: str
    url: str


@register.simple_tag(name="legal_lines")  # for e-mails, which have their own layout
def links(language: str | None = None) -> list[LegalLink]:
    """The operator's documents, in this language or in the page's own."""
    with translation.override(language or translation.get_language()):
        email = settings.SUPPORT_EMAIL
        support = settings.SUPPORT_URL or (f"mailto:{email}" if email else "")
        documents = [
            LegalLink(gettext("Terms of service"), settings.TERMS_URL),
            LegalLink(gettext("Privacy policy"), settings.PRIVACY_URL),
            LegalLink(gettext("Support"), support),
        ]
        return [document for document in documents if document.url]


@register.inclusion_tag("components/legal_links.html")
def legal_links(language: str | None = None) -> dict[str, object]:
    return {"links": links(language)}


class Notice(NamedTuple):
    """A banner for everybody in a company; the action is a POST to `view`, or else a link."""

    name: str
    level: str  # of Bootstrap's alerts
    icon: str
    text: str
    action: str
    url: str = ""
    view: str = ""


@register.inclusion_tag("components/company_notices.html", takes_context=True)
def company_notices(context: Context) -> dict[str, object]:
    member = context.get("member")
    notices = list(_notices(member)) if member else []
    return {"notices": notices, "csrf_token": context.get("csrf_token")}


def _notices(member: Member) -> Iterator[Notice]:
    company = member.company
    url = _support_url(member.company)
    if company.closes_at and company.is_closing:
        day = date_format(timezone.localtime(company.closes_at), "j E Y")
        text = gettext(
            "The company will be deleted on %(day)s. Until then everything works except automatic "
            "top-ups."
        )
        may = gettext("An owner can cancel the deletion.")
        view = ""
        if member.can_manage_members:
            may = pgettext("notice", "Cancel the deletion")
            view = "company-keep"
        yield Notice("closing", "danger", "warning", text % {"day": day}, may, view=view)
    if company.status == Company.Status.PENDING:
        text = gettext(
            "The company is waiting for approval. Test keys work already; live keys start to work "
            "once the operator approves the company."
        )
        yield Notice("status", "warning", "waiting", text, gettext("Contact support."), url)
    elif company.status == Company.Status.SUSPENDED:
        text = gettext("The company is suspended: its keys are refused.")
        yield Notice("status", "danger", "warning", text, gettext("Contact support."), url)


def _support_url(company: Company) -> str:
    """The support URL; an e-mail's subject gives the company's name. Empty if nothing is set."""
    if settings.SUPPORT_EMAIL:
        subject = quote(f"Kvitok: {company.one_line_name} ({company.pk})")
        return f"mailto:{settings.SUPPORT_EMAIL}?subject={subject}"
    return str(settings.SUPPORT_URL)


SHORTCUTS: tuple[tuple[str, StrOrPromise, str, Allows], ...] = (  # keys, title, view, roles
    ("/", pgettext_lazy("cabinet", "Search"), "", anyone),
    ("g o", _("Overview"), "overview", anyone),
    ("g m", _("Messages"), "message-list", anyone),
    ("g l", _("Short links"), "link-list", anyone),
    ("g k", _("API keys"), "key-list", can_read_technical_pages),
    ("g b", _("Balance"), "balance", can_see_money),
    ("n", _("Send a message"), "send", can_change_settings),
    ("?", _("This list"), "", anyone),
)


@register.simple_tag
def shortcuts(member: Member) -> list[tuple[str, StrOrPromise, str]]:
    """The shortcuts of the member's role: keys, title and, if it opens a page, the URL."""
    return [
        (keys, title, reverse(view) if view else "")
        for keys, title, view, allows in SHORTCUTS
        if allows(member)
    ]


class Tab(NamedTuple):
    name: str
    view: str
    title: StrOrPromise


SETTINGS = (
    Tab("settings", "settings", _("Messages and limits")),
    Tab("policy", "policy", _("Policy")),
    Tab("budgets", "budget-edit", _("Budgets")),
    Tab("protection", "protection", _("Protection")),
    Tab("texts", "text-list", _("Texts")),
    Tab("members", "member-list", _("Members")),
)
AUDIT = Tab("audit", "audit-list", _("Audit log"))
MONEY = (
    Tab("balance", "balance", _("Balance")),
    Tab("statement", "balance-statement", _("Statement")),
    Tab("documents", "document-list", _("Documents")),
    Tab("seals", "balance-seals", _("Seals")),
    Tab("orders", "balance-order-list", _("Top-ups")),
    Tab("automatic", "balance-automatic", _("Automatic")),
    Tab("profile", "balance-profile", _("Billing details")),
)


@register.inclusion_tag("components/tabs.html")
def settings_tabs(here: str, member: Member) -> dict[str, Any]:
    return _tab_links((*SETTINGS, AUDIT) if member.can_manage_keys else SETTINGS, here)


@register.inclusion_tag("components/tabs.html")
def money_tabs(here: str) -> dict[str, Any]:
    return _tab_links(MONEY, here)


def _tab_links(tabs: tuple[Tab, ...], here: str) -> dict[str, Any]:
    links = [
        {"url": reverse(tab.view), "title": tab.title, "is_here": tab.name == here} for tab in tabs
    ]
    return {"tabs": links, "current": next(link for link in links if link["is_here"])}
