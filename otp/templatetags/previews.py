"""The settings page belongs to accounts, the words of a code to this room."""

from typing import Any

from django import template
from django.forms import BaseForm

from otp.previews import preview

register = template.Library()


@register.inclusion_tag("cabinet/message_preview.html")
def message_preview(form: BaseForm) -> dict[str, Any]:
    value = {name: form[name].value() for name in ("brand", "language", "code_length")}
    return preview(value, company=form.instance)  # type: ignore[attr-defined]
