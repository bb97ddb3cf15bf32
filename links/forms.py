"""Making, changing and finding short links in the cabinet."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import get_language, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from accounts.models import Mode
from config.errors import DomainError
from links import slugs, targets

LIFETIMES = [
    ("", pgettext_lazy("link", "never")),
    ("3600", _("an hour")),
    ("86400", _("a day")),
    ("604800", _("a week")),
    ("2592000", _("a month")),
    ("31536000", _("a year")),
]
KEEP = "keep"
STATES = [
    ("active", pgettext_lazy("link", "active")),
    ("expired", pgettext_lazy("link", "expired")),
    ("disabled", pgettext_lazy("link", "disabled")),
]


class LinkFilter(forms.Form):
    mode = forms.ChoiceField(
        choices=Mode.choices, required=False, initial=Mode.LIVE, widget=forms.HiddenInput
    )
    search = forms.CharField(
        label=_("Short link or target"),
        max_length=200,
        required=False,
        widget=forms.TextInput(attrs={"spellcheck": "false", "placeholder": "https://…"}),
    )
    state = forms.ChoiceField(
        label=_("State"), choices=[("", pgettext_lazy("state", "any")), *STATES], required=False
    )

    def chosen(self) -> dict[str, Any]:
        """What is filtered by; a field filled in wrongly filters nothing and shows its error."""
        self.is_valid()
        return {name: value for name, value in self.cleaned_data.items() if value}

    @property
    def mode_chosen(self) -> str:
        return str(self.chosen().get("mode", Mode.LIVE))


class TargetForm(forms.Form):
    url = forms.CharField(
        label=_("Where it leads"),
        max_length=targets.MAX_LENGTH,
        widget=forms.URLInput(attrs={"placeholder": "https://", "autocomplete": "off"}),
    )

    def clean_url(self) -> str:
        return _checked(targets.check_target, self.cleaned_data["url"])


class LinkForm(TargetForm):
    alias = forms.CharField(
        label=_("Name of your own"),
        max_length=64,
        required=False,
        help_text=_("3–64 Latin letters, digits, hyphens, underscores. Empty: a short random one."),
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocomplete": "off"}),
    )
    lifetime = forms.ChoiceField(label=_("Lifetime"), choices=LIFETIMES, required=False)

    def clean_alias(self) -> str:
        alias: str = self.cleaned_data["alias"]
        if alias:
            _checked(slugs.check_alias, alias)
        return alias

    def clean_lifetime(self) -> int | None:
        return int(self.cleaned_data["lifetime"]) if self.cleaned_data["lifetime"] else None


class ChangeForm(TargetForm):
    lifetime = forms.ChoiceField(
        label=_("Lifetime"),
        choices=[(KEEP, _("as it is")), *LIFETIMES],
        required=False,
        help_text=_("Counted from now."),
    )


def _checked(check: Callable[[object], str], value: str) -> str:
    try:
        return check(value)
    except DomainError as refused:
        raise ValidationError(words_of(refused)) from None


def words_of(refused: DomainError) -> list[str]:
    """What the API would say of the field, in the language of the page."""
    body = refused.body(language=get_language() or "ru", request_id="")
    errors: dict[str, list[str]] = body.get("errors", {})
    return [words for several in errors.values() for words in several] or [body["message"]]
