"""What templates need beyond Django's own tags."""

from datetime import date, datetime
from typing import Any

from django import template
from django.forms import BaseForm, BoundField
from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, pgettext

from accounts.models import Member
from accounts.people import phone_masking

register = template.Library()

CLASSES = {
    "select": "form-select",
    "selectmultiple": "form-select",
    "checkbox": "form-check-input",
}


SUMMARY_THRESHOLD = (
    3  # fields: a form of more may not fit a screen, and says above what is wrong below
)


@register.inclusion_tag("components/error_summary.html")
def error_summary(form: BaseForm) -> dict[str, Any]:
    """What to correct, above a form that was refused; each field is a link away."""
    faults = _faults(form)
    return {
        "form": form,
        "faults": faults if len(form.visible_fields()) > SUMMARY_THRESHOLD else [],
        "focused": bool(faults),
    }


def _faults(form: BaseForm) -> list[BoundField]:
    return [field for field in form.visible_fields() if field.errors]


@register.filter
def is_first_fault(field: BoundField) -> bool:
    """The field that a refused form puts the cursor into, with no script: by `autofocus`."""
    return bool(field.errors) and _faults(field.form)[0].name == field.name


@register.filter
def phone_for(phone: str, member: Member | None) -> str:
    return phone_masking.phone_for(phone, member)


@register.filter
def text_for(text: str, member: Member | None) -> str:
    return phone_masking.text_for(text, member)


@register.filter
def control(field: BoundField) -> SafeString:
    """The field's widget in Bootstrap's classes; a group of options keeps its own."""
    if field.use_fieldset:
        return field.as_widget()
    classes = CLASSES.get(field.widget_type, "form-control")
    attrs: dict[str, str | bool] = {"class": f"{classes} is-invalid" if field.errors else classes}
    if field.form.errors:
        attrs["autofocus"] = is_first_fault(field)
    if field.field.widget.attrs.get("placeholder") == field.label:
        attrs["placeholder"] = False  # allauth's say the label once more
    return field.as_widget(attrs=attrs)


@register.filter
def moment(at: datetime) -> SafeString:
    """A time to the second, as the reader writes it, with the machine's spelling beside it."""
    local = timezone.localtime(at)
    words = date_format(local, pgettext("moment", "j M Y, H:i:s"))
    return format_html('<time datetime="{}">{}</time>', local.isoformat("T", "seconds"), words)


@register.filter
def day(at: date) -> str:
    return date_format(at, pgettext("day", "j M"))


@register.filter
def share(percent: float | None) -> str:
    """«97,3 %», or a dash where there is nothing to divide."""
    if percent is None:
        return "—"
    digits = 0 if percent in (0, 100) else 1
    # Never rounded up to all of them.
    shown = min(percent, 99.9) if percent < 100 else percent
    return f"{number_format(shown, digits)}\u00a0%"


@register.filter
def took(ms: int | None) -> str:
    """A length of time to two digits: «0,6 с», «12 с», «3,5 мин»."""
    if not ms:
        return "—"
    for size, words in ((3_600_000, gettext("h")), (60_000, gettext("min")), (1000, gettext("s"))):
        if ms >= size or size == 1000:
            amount = ms / size
            return f"{number_format(amount, 0 if amount >= 10 else 1)}\u00a0{words}"
    raise AssertionError("seconds are what is left")
