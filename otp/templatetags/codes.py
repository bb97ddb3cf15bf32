"""Tags and filters for texts of codes and for restrictions of the guard."""

from typing import Any

from django import template
from django.forms import BaseForm

from accounts.models import Company, Member
from accounts.people.phone_visibility import prefix_for
from otp.models import GuardRestriction
from otp.protection import notifications
from otp.web.previews import preview, with_variables

register = template.Library()
register.filter(with_variables)


@register.inclusion_tag("cabinet/message_preview.html")
def message_preview(form: BaseForm) -> dict[str, Any]:
    """The preview of the form's values, and of the stored values for fields that the form lacks."""
    company: Company = form.instance  # type: ignore[attr-defined]
    value = {
        name: form[name].value() if name in form.fields else getattr(company, name)
        for name in ("brand", "language", "code_length")
    }
    return preview(value, company=company)


@register.filter
def scope_name(restriction: GuardRestriction) -> str:
    return notifications.scope_name(restriction.kind, restriction.value)


@register.filter
def scope_for(restriction: GuardRestriction, member: Member) -> str:
    """The scope's name, with as many digits of the number as the member may see."""
    return notifications.scope_name(restriction.kind, prefix_for(restriction.value, member))
