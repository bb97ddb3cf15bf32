"""Tags for the admin's menu, waiting items, durations and labels, and the cabinet's notices."""

from typing import Any

from django import template
from django.shortcuts import resolve_url
from django.template.context import Context, RequestContext
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from cabinet.forms import grouped
from catalogue.texts import StrOrPromise
from channels.providers.base import Capabilities
from channels.vendor_accounts import error_texts
from operator_admin import attention
from operator_admin.incidents import notices
from operator_admin.site import may_open

register = template.Library()


@register.simple_tag(takes_context=True)
def menu_link(context: RequestContext, name: str, label: StrOrPromise) -> SafeString:
    """A menu link, marked while the page or one below it is open.

    It is empty if the user may not open the page.
    """
    if not may_open(context["request"].user, name):
        return SafeString()
    url = reverse(f"admin:{name}")
    path = context["request"].path
    is_open = path == url or (name != "index" and path.startswith(url))
    current = ' aria-current="page"' if is_open else ""
    return format_html(f'<a href="{{}}"{current}>{{}}</a>', url, label)


@register.inclusion_tag("operator_admin/crumbs.html", takes_context=True)
def crumbs(context: Context, *above: StrOrPromise, last: StrOrPromise = "") -> dict[str, object]:
    """Breadcrumbs.

    `above` alternates the title and the view or URL of each page above; `last` defaults to the
    page's own title.
    """
    pages = [
        (title, resolve_url(str(to))) for title, to in zip(above[::2], above[1::2], strict=True)
    ]
    return {"pages": pages, "last": last or context["title"]}


@register.simple_block_tag
def figure(
    content: str,
    title: StrOrPromise,
    number: int | str,
    model: str = "",
    *,
    view: str = "",
    tone: str = "",
    is_least: bool = False,
    **query: object,
) -> SafeString:
    """A number with the block's content below; links to the list of `model`, or to `view`.

    It is shown as «500+» if `is_least`.
    """
    view = view or (f"{model}_changelist" if model else "")
    url = reverse(f"admin:{view}", query=query or None) if view else ""
    text = grouped(number) if isinstance(number, int) else number
    return format_html(
        '<{} class="{}"{}><span class="admin-figure-name">{}</span> '
        "<strong>{}</strong> <span>{}</span></{}>",
        "a" if url else "div",
        f"admin-figure {tone}".strip(),
        format_html(' href="{}"', url) if url else "",
        title,
        f"{text}+" if is_least else text,
        SafeString(content.strip()),
        "a" if url else "div",
    )


@register.simple_block_tag
def wide_table(content: str, title: StrOrPromise, *, cards: bool = False) -> SafeString:
    """A table in a region that scrolls sideways; with `cards` each row is a card on a phone."""
    return format_html(
        '<section class="module admin-wide" tabindex="0" aria-label="{}">'
        "<table{}><caption>{}</caption>{}</table></section>",
        title,
        SafeString(' class="admin-cards"' if cards else ""),
        title,
        SafeString(content.strip()),
    )


@register.inclusion_tag("operator_admin/attention_link.html", takes_context=True)
def attention_link(context: RequestContext) -> dict[str, object]:
    """The number of things that wait for the operator."""
    counts = attention.counts(attention.kinds_for(context["request"]))
    return {"request": context["request"], "total": sum(count.number for count in counts)}


@register.simple_tag
def waiting_counts() -> dict[str, int]:
    """The number of items that wait for any operator, by kind."""
    return {count.name: count.number for count in attention.counts(attention.KINDS)}


@register.inclusion_tag("components/operator_notices.html", takes_context=True)
def operator_notices(context: RequestContext) -> dict[str, Any]:
    member = context.get("member")
    request = context.get("request")
    incidents = notices.for_company(member.company, request.session) if member and request else []
    return {
        "notices": incidents,
        "next": request.get_full_path() if incidents and request else "",
        "csrf_token": context.get("csrf_token"),
    }


CONTENTS = {
    "code": gettext_lazy("a code"),
    "code_with_link": gettext_lazy("a code with a link"),
    "code_with_text": gettext_lazy("a code in a text of its own"),
    "link": gettext_lazy("a link"),
    "custom_digits": gettext_lazy("a custom code"),
    "custom_code": gettext_lazy("a custom code with letters"),
}
BREAKERS = {
    "closed": gettext_lazy("not triggered: messages go through"),
    "half-open": gettext_lazy("half-open: one message at a time is tried"),
    "open": gettext_lazy("open: nothing is sent"),
}


@register.filter
def receipts_label(capabilities: Capabilities) -> str:
    """Whether an account sends receipts, or what proves a delivery instead."""
    if capabilities.receipts:
        proof = _("yes")
    elif not capabilities.waits_for_person:
        proof = _("none: the hand-over is the proof")
    elif capabilities.clicks_prove:
        proof = _("none: a click or the entered code is the proof")
    else:
        proof = _("none: only the entered code is the proof")
    polls = [_("can be asked")] if capabilities.pollable else []
    contacts = [_("only people who shared their contact")] if capabilities.needs_contact else []
    return ", ".join([proof, *polls, *contacts])


@register.filter
def duration(seconds: float | None) -> str:
    if seconds is None:
        return "—"
    if seconds < 60:
        return _("%(n)s s") % {"n": number_format(seconds, 1) if seconds < 10 else round(seconds)}
    if seconds < 3600:
        return _("%(n)s min") % {"n": round(seconds / 60)}
    return _("%(n)s h") % {"n": round(seconds / 3600)}


register.filter(
    "alert_label", lambda alert: error_texts.alert_text(alert.provider, alert.code, alert.kind)
)
register.filter("breaker_label", lambda state: BREAKERS[state])
register.filter("content_label", lambda content: CONTENTS[str(content)])
register.filter("error_label", lambda kind: error_texts.ERROR_CLASSES.get(kind, kind))
