"""Forms of the page *Protection*: the mode, and numbers that are let through for an hour."""

import re

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts.models import Company, GuardMode
from accounts.people import countries
from channels import phone_numbers
from channels.guard.scopes import CUTS, Scope, ScopeKind
from channels.phone_numbers import country_of
from config.errors import DomainError
from config.input import clipboard

HIDDEN = "•"  # in place of digits, as this page writes a range
KIND_OF = {digits: kind for kind, digits in CUTS}
_RANGE = re.compile(rf"(\+[1-9][0-9]+)({HIDDEN}+|\*+)")


class ModeForm(forms.Form):
    mode = forms.ChoiceField(
        label=_("Mode"),
        choices=[
            (GuardMode.ENFORCE, _("Block: such sends go without SMS, then are refused")),
            (GuardMode.WATCH, _("Watch only: nothing is held back, this page says what would be")),
            (GuardMode.OFF, _("Off: nothing is counted, only budgets hold")),
        ],
        widget=forms.RadioSelect(attrs={"class": "form-check-input"}),
    )
    watches_others = forms.BooleanField(
        label=_("Be stricter where other companies are attacked"),
        required=False,
        help_text=_("Only for numbers where people new to you have entered almost no codes yet."),
    )


def _country_choices() -> list[tuple[str, object]]:
    _blank, *named = countries.choices()
    return [("", _("No country")), *named]


class LetThroughForm(forms.Form):
    number = forms.CharField(
        label=_("Any number in the range"),
        max_length=64,
        required=False,
        widget=forms.TextInput(attrs={"type": "tel", "placeholder": "+79161234567"}),
        help_text=_("All numbers that differ in the last four digits are let through."),
    )
    country = forms.ChoiceField(label=_("Country"), choices=_country_choices, required=False)

    def __init__(self, *args: object, company: Company, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.company = company
        self.of_country = ""  # that the range is in
        self._scope: Scope | None = None

    def clean_number(self) -> str:
        """A whole number, or a range as this page shows it: +7916123••••."""
        typed = re.sub(r"[\s()\-./]", "", clipboard.plain(self.cleaned_data["number"]))
        if not typed:
            return ""
        if found := _RANGE.fullmatch(typed):
            prefix, hidden = found.groups()
            if len(hidden) not in KIND_OF:
                raise ValidationError(_("A range hides its last 2, 3, 4 or 7 digits."))
            if phone_numbers.e164_or_none(prefix + "5" * len(hidden), self.company.country) is None:
                raise ValidationError(
                    _("That is not a whole number. Hide its last digits and keep the others.")
                )
            self._scope = Scope(KIND_OF[len(hidden)], prefix)
            self.of_country = country_of(prefix + "0" * len(hidden))
            return typed
        try:
            number = phone_numbers.normalise(typed, self.company.country)
        except DomainError as refusal:
            raise ValidationError(str(refusal.message or refusal.error.message)) from None
        digits = dict(CUTS)[ScopeKind.TEN_THOUSAND]
        self._scope = Scope(ScopeKind.TEN_THOUSAND, number[:-digits])
        self.of_country = country_of(number)
        return number

    def clean(self) -> dict[str, object]:
        values = self.cleaned_data
        if not self.errors and bool(values.get("number")) == bool(values.get("country")):
            raise ValidationError(_("Give either a number or a country."))
        return values

    def scope(self) -> Scope:
        """Of valid fields."""
        return self._scope or Scope(ScopeKind.COUNTRY, self.cleaned_data["country"])
