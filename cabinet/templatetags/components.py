"""Tags for `templates/components`, the parts that many pages share."""

from typing import Any

from django import template
from django.conf import settings
from django.forms import BaseForm, BoundField
from django.template.context import Context
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from catalogue.texts import StrOrPromise

register = template.Library()

CLASSES = {"select": "form-select", "selectmultiple": "form-select", "checkbox": "form-check-input"}
SUMMARY_THRESHOLD = 3  # fields: longer forms may not fit a screen and get an error summary


@register.inclusion_tag("components/icon.html")
def icon(name: str) -> dict[str, str]:
    """An icon of `static/vendor/bootstrap-icons/icons.svg`; hidden from screen readers."""
    return {"name": name}


@register.inclusion_tag("components/copy_button.html")
def copy_button(element_id: str) -> dict[str, str]:
    return {"id": element_id}


GOOD, WAITS, BAD, OFF, ENDED = (
    f"state state-{name}" for name in ("delivered", "queued", "failed", "off", "ended")
)
BADGES: dict[str, dict[object, tuple[str, StrOrPromise]]] = {  # the class and the text of a state
    "approval": {
        "approved": ("admin-state is-approved", ""),
        "pending": ("admin-state is-pending", ""),
        **dict.fromkeys(
            ("rejected", "paused", "disabled", "missing"), ("admin-state is-suspended", "")
        ),
    },
    "delivery": {
        "waiting": (WAITS, pgettext_lazy("delivery", "waiting for a retry")),
        "pending": (WAITS, ""),
        "delivered": (GOOD, ""),
        "failed": (BAD, ""),
    },
    "endpoint": {
        "off": (OFF, pgettext_lazy("endpoint", "switched off")),
        "failing": (BAD, _("failing")),
        "well": (GOOD, pgettext_lazy("endpoint", "works")),
        "new": (WAITS, pgettext_lazy("endpoint", "nothing sent yet")),
    },
    "link": {
        "active": (GOOD, pgettext_lazy("link", "active")),
        "expired": (WAITS, pgettext_lazy("link", "expired")),
        "used": (WAITS, pgettext_lazy("link", "opened, once")),
        "disabled": (BAD, pgettext_lazy("link", "disabled")),
    },
    "order": {
        **dict.fromkeys(("created", "pending"), (WAITS, "")),
        "review": (WAITS, _("payment under review")),
        "paid": (GOOD, ""),
        **dict.fromkeys(("canceled", "expired"), (ENDED, "")),
    },
    "trial": {
        True: (GOOD, _("The server was told: sent")),
        False: (BAD, _("The server was refused")),
    },
}


@register.simple_tag
def badge(kind: str, state: object, text: StrOrPromise = "") -> SafeString:
    """The badge of a state, from BADGES; `text` is for states without a text there."""
    css, word = BADGES[kind][state]
    return format_html('<span class="{}">{}</span>', css, text or word)


@register.simple_tag
def poll(seconds: int, view: str, *args: object, **query: object) -> SafeString:
    """htmx attributes that replace the element by a view's response every few seconds."""
    attributes = 'hx-get="{}" hx-trigger="every {}s" hx-swap="outerHTML"'
    return format_html(attributes, reverse(view, args=args, query=query or None), seconds)


@register.inclusion_tag("components/back.html")
def back(
    title: StrOrPromise, view: str, *args: object, anchor: str = "", **query: object
) -> dict[str, object]:
    """The link above a heading that leads to the parent page."""
    url = reverse(view, args=args, query=query or None, fragment=anchor or None)
    return {"url": url, "title": title}


@register.inclusion_tag("components/menu_item.html", takes_context=True)
def menu_item(
    context: Context, section: str, view: str, title: StrOrPromise, icon_name: str
) -> dict[str, object]:
    is_here = context["section"] == section
    return {"url": reverse(view), "title": title, "icon_name": icon_name, "is_here": is_here}


@register.simple_tag
def headings(*titles: StrOrPromise, css: str = "") -> SafeString:
    """Headings of neighbouring columns; `css` is a class of each, such as `number`."""
    start = (
        format_html('<th scope="col" class="{}">', css) if css else SafeString('<th scope="col">')
    )
    return format_html_join("", "{}{}</th>", ((start, title) for title in titles))


@register.simple_tag
def actions_heading() -> SafeString:
    """The heading of a column of buttons, for screen readers only."""
    return format_html(
        '<th scope="col"><span class="visually-hidden">{}</span></th>', gettext("Actions")
    )


@register.inclusion_tag("components/link_button.html")
def link_button(
    label: StrOrPromise,
    view: str,
    *args: object,
    style: str = "outline-secondary",
    small: bool = False,
    icon: str = "",
    about: StrOrPromise = "",
    anchor: str = "",
    **query: object,
) -> dict[str, object]:
    """A link that looks like a button; `about` follows its label for screen readers only."""
    url = reverse(view, args=args, query=query or None, fragment=anchor or None)
    css = f"btn-{style} btn-sm" if small else f"btn-{style}"
    return {"label": label, "url": url, "css": css, "icon_name": icon, "about": about}


@register.inclusion_tag("components/post_button.html")
def post_button(label: StrOrPromise, view: str, *args: object, **options: Any) -> dict[str, object]:
    """A form with only a button, which takes the options of `link_button`."""
    return link_button(label, view, *args, **options)


@register.inclusion_tag("components/snippet.html")
def snippet(element_id: str, code: str, *, css: str = "", look: str = "") -> dict[str, str]:
    """Code to be copied; `look` is a class of the code, `css` of its frame."""
    return {"id": element_id, "code": code, "css": css, "look": look}


CURL = {  # by the id of the snippet: the call and its body
    "curl": ("otp/send", '{"phone": "+79990000000"}'),
    "curl-shorten": ("links/shorten", '{"url": "https://example.com/"}'),
    "curl-verify": ("otp/verify", '{"phone": "+79990000000", "code": "123456"}'),
}


@register.inclusion_tag("components/snippet.html")
def curl(name: str = "curl", key: str = "YOUR_API_KEY") -> dict[str, str]:
    """A request to the API, ready for a terminal."""
    path, body = CURL[name]
    code = (
        f"curl -X POST {settings.PUBLIC_URL}/api/v1/{path} \\\n"
        f'  -H "Authorization: Bearer {key}" \\\n'
        '  -H "Content-Type: application/json" \\\n'
        f"  -d '{body}'"
    )
    return snippet(name, code)


@register.inclusion_tag("components/error_summary.html")
def error_summary(form: BaseForm, *, is_send: bool = False) -> dict[str, Any]:
    """A summary of errors above an invalid form, with links to the fields."""
    faults = _faults(form)
    return {
        "form": form,
        "is_send": is_send,
        "faults": faults if len(form.visible_fields()) > SUMMARY_THRESHOLD else [],
        "focused": bool(faults),
    }


def _faults(form: BaseForm) -> list[BoundField]:
    return [field for field in form.visible_fields() if field.errors]


@register.filter
def is_first_fault(field: BoundField) -> bool:
    """Whether it is the first invalid field, which gets `autofocus`."""
    return bool(field.errors) and _faults(field.form)[0].name == field.name


@register.filter
def control(field: BoundField) -> SafeString:
    """Renders the widget with Bootstrap's classes; option groups keep their own."""
    if field.use_fieldset:
        return field.as_widget()
    classes = CLASSES.get(field.widget_type, "form-control")
    attrs: dict[str, str | bool] = {"class": f"{classes} is-invalid" if field.errors else classes}
    if field.form.errors:
        attrs["autofocus"] = is_first_fault(field)
    if field.field.widget.attrs.get("placeholder") == field.label:
        attrs["placeholder"] = False  # allauth repeats the label there
    return field.as_widget(attrs=attrs)


@register.inclusion_tag("components/filter_form.html", takes_context=True)
def filter_form(
    context: Context,
    view: str,
    target: str,
    label: StrOrPromise,
    *,
    main: str = "",
    days: str = "",
    css: str = "",
) -> dict[str, Any]:
    """The page's `form` above a list; each change of it replaces the element `target`.

    `main` names the fields used most: the others are collapsed unless one is in use. `days` names
    fields with presets next to them, collapsed separately unless they hold other days than a
    preset.
    """
    form: BaseForm = context["form"]
    url = reverse(view)
    mode = context.get("mode")
    visible = form.visible_fields()
    own_days = days.split()
    first = main.split() or [field.name for field in visible]
    others = [field for field in visible if field.name not in (*first, *own_days)]
    return {
        "url": url,
        "reset": f"{url}?mode={mode}" if mode else url,
        "target": target,
        "label": label,
        "css": css,
        "is_live": context.get("is_live"),
        "hidden": form.hidden_fields(),
        "first": [form[name] for name in first],
        "others": others,
        "is_open": _is_used(others),
        "days": [form[name] for name in own_days],
        "is_days_open": not context.get("is_preset")
        and _is_used([form[name] for name in own_days]),
    }


def _is_used(fields: list[BoundField]) -> bool:
    return any(field.errors or field.value() for field in fields)
