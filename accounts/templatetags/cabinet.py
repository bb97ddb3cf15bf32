"""What templates need beyond Django's own tags."""

from datetime import datetime

from django import template
from django.forms import BoundField
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import pgettext

register = template.Library()

CLASSES = {
    "select": "form-select",
    "selectmultiple": "form-select",
    "checkbox": "form-check-input",
}


@register.filter
def control(field: BoundField) -> SafeString:
    """The field's widget in Bootstrap's classes; a group of options keeps its own."""
    if field.use_fieldset:
        return field.as_widget()
    classes = CLASSES.get(field.widget_type, "form-control")
    attrs: dict[str, str | bool] = {"class": f"{classes} is-invalid" if field.errors else classes}
    if field.field.widget.attrs.get("placeholder") == field.label:
        attrs["placeholder"] = False  # allauth's say the label once more
    return field.as_widget(attrs=attrs)


@register.filter
def moment(at: datetime) -> SafeString:
    """A time to the second, as the reader writes it, with the machine's spelling beside it."""
    local = timezone.localtime(at)
    words = date_format(local, pgettext("moment", "j M Y, H:i:s"))
    return format_html('<time datetime="{}">{}</time>', local.isoformat("T", "seconds"), words)
