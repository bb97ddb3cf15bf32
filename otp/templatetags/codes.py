"""Tags and filters for texts of codes and for restrictions of the guard."""

import re
from typing import Any

from django import template
from django.forms import BaseForm
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from accounts.models import Company, Member
from accounts.people.phone_masking import beginning_for
from otp.models import GuardRestriction
from otp.protection import notices
from otp.web.previews import preview

register = template.Library()
_VARIABLES = re.compile(r"(\{\w+\})")


@register.inclusion_tag("cabinet/message_preview.html")
def message_preview(form: BaseForm) -> dict[str, Any]:
    """From the form's values, and from the stored ones where it lacks the field."""
    company: Company = form.instance  # type: ignore[attr-defined]
    value = {
        name: form[name].value() if name in form.fields else getattr(company, name)
        for name in ("brand", "language", "code_length")
    }
    return preview(value, company=company)


@register.filter
def with_variables(body: str) -> SafeString:
    """Marks up the variables of a text as code."""
    parts = enumerate(_VARIABLES.split(body))
    marked = ((format_html("<code>{}</code>", part) if n % 2 else part,) for n, part in parts)
    return format_html_join("", "{}", marked)


@register.filter
def scope_name(restriction: GuardRestriction) -> str:
    return notices.scope_name(restriction.kind, restriction.value)


@register.filter
def scope_for(restriction: GuardRestriction, member: Member) -> str:
    """No more of the numbers than the member sees of each."""
    return notices.scope_name(restriction.kind, beginning_for(restriction.value, member))
