"""Template filters for durations, contents, breakers and error classes."""

from django import template
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.cabinet.number_fields import grouped
from channels.models import ProviderAlert
from channels.vendor_accounts import error_texts
from config.texts import StrOrPromise

register = template.Library()
register.filter("grouped", grouped)

CONTENTS = {
    "code": gettext_lazy("a code"),
    "code_with_link": gettext_lazy("a code with a link"),
    "link": gettext_lazy("a link"),
}
BREAKERS = {
    "closed": gettext_lazy("closed: messages go through"),
    "half-open": gettext_lazy("half-open: one message at a time is tried"),
    "open": gettext_lazy("open: nothing is sent"),
}


@register.filter
def span(seconds: float | None) -> str:
    if seconds is None:
        return "—"
    if seconds < 60:
        return _("%(n)s s") % {"n": number_format(seconds, 1) if seconds < 10 else round(seconds)}
    if seconds < 3600:
        return _("%(n)s min") % {"n": round(seconds / 60)}
    return _("%(n)s h") % {"n": round(seconds / 3600)}


@register.filter
def content_word(content: str) -> StrOrPromise:
    return CONTENTS[str(content)]


@register.filter
def alert_word(alert: ProviderAlert) -> StrOrPromise:
    return error_texts.alert_text(alert)


@register.filter
def breaker_word(state: str) -> StrOrPromise:
    return BREAKERS[state]


@register.filter
def error_word(kind: str) -> StrOrPromise:
    return error_texts.ERROR_CLASSES.get(kind, kind)
