"""The cabinet's forms for the policy: a rule, and the number to preview it for."""

from typing import Any, cast

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.models import Member
from accounts.people import countries, phone_visibility
from cabinet import fallback_forms
from cabinet.forms import GroupedIntegerField, PurposeField
from catalogue import channels
from catalogue.errors import DomainError
from catalogue.languages import message_languages
from channels import phone_numbers
from channels.routing import stored_rules
from channels.routing.stored_rules import StoredRule
from parsing.stale_forms import RefusesStaleForm


def _country_choices() -> list[tuple[str, Any]]:
    _blank, *choices = countries.choices()
    return [("", _("All countries")), *choices]


class RuleForm(fallback_forms.WithFallback, RefusesStaleForm, forms.Form):
    template_name = "cabinet/policy_fields.html"
    country = forms.ChoiceField(label=_("Country"), required=False, choices=_country_choices)
    purpose = PurposeField(
        help_text=_("As your requests name it. Leave empty for all purposes, and for links.")
    )
    barred = forms.MultipleChoiceField(
        label=_("Blocked channels"),
        required=False,
        choices=channels.choices,
        widget=forms.CheckboxSelectMultiple(attrs={"class": "form-check-input"}),
        help_text=_("These channels are not used, even if a request names one."),
    )
    smart = forms.TypedChoiceField(
        label=_("Order"),
        required=False,
        choices=[
            ("", _("From the next rule")),
            ("no", _("As above")),
            ("yes", _("Smart: by past deliveries")),
        ],
        coerce=lambda text: text == "yes",
        empty_value=None,
        help_text=_(
            "For codes only. Past deliveries decide the order and the wait: a messenger if it "
            "reaches the person as reliably and quickly as SMS, otherwise SMS. One code in twenty "
            "follows the order above, which measures the saving."
        ),
    )
    max_cost = GroupedIntegerField(
        label=_("Price cap, tokens"),
        required=False,
        min_value=1,
        help_text=_("For one message; more expensive channels are skipped."),
    )
    locale = forms.ChoiceField(
        label=_("Message language"),
        required=False,
        help_text=_("For requests that do not name a language."),
    )

    def __init__(self, data: Any, *, rule: StoredRule) -> None:
        initial = {
            "country": rule.country,
            "purpose": rule.purpose,
            "barred": rule.barred or [],
            "smart": {None: "", False: "no", True: "yes"}[rule.smart],
            "max_cost": rule.max_cost,
            "locale": rule.locale,
        }
        super().__init__(data, initial=initial)
        self.fields.update(fallback_forms.chain_fields(rule.channels or []))
        self.fields.update(fallback_forms.patience_fields(rule.patience or {}))
        locale = cast(forms.ChoiceField, self.fields["locale"])
        locale.choices = [
            ("", _("Company default")),
            *message_languages.grouped_choices(rule.locale),
        ]
        # In page order: the first invalid field gets the focus.
        self.order_fields(("country", "purpose", *fallback_forms.CHAIN_FIELDS))

    @property
    def matches(self) -> list[forms.BoundField]:
        return [self["country"], self["purpose"]]

    @property
    def others(self) -> list[forms.BoundField]:
        return [self[name] for name in ("max_cost", "locale")]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        fallback_forms.clean_patience(cleaned)
        if not self.errors:
            for fault in stored_rules.validation_errors(self.rule()):
                self.add_error(None, str(fault))
        return cleaned

    def rule(self) -> StoredRule:
        """The rule of the valid fields."""
        values = self.cleaned_data
        chain = [values[name] for name in fallback_forms.CHAIN_FIELDS if values.get(name)]
        return StoredRule(
            country=values["country"],
            purpose=values["purpose"],
            channels=chain or None,
            patience=values["patience"],
            max_cost=values["max_cost"],
            barred=values["barred"] or None,
            locale=values["locale"],
            smart=values["smart"],
        )


class PreviewForm(forms.Form):
    phone = forms.CharField(
        label=_("Phone number"),
        max_length=64,
        widget=forms.TextInput(
            attrs={"type": "tel", "autocomplete": "off", "placeholder": "+7 916 123-45-67"}
        ),
    )
    purpose = PurposeField(help_text=_("Leave empty for <code>verification</code>."))
    kind = forms.ChoiceField(
        label=_("What is sent"),
        required=False,
        choices=[("code", _("A code")), ("link", _("A link"))],
    )

    def __init__(self, data: Any, *, member: Member) -> None:
        super().__init__(data)
        self.member = member

    def clean_phone(self) -> str:
        """Validates the phone and counts a lookup.

        The plan reveals whether the company has reached the number.
        """
        country = self.member.company.country
        try:
            number = phone_numbers.normalise(self.cleaned_data["phone"], country)
        except DomainError as refusal:
            raise forms.ValidationError(str(refusal.message)) from None
        if not phone_visibility.may_look_up(number, self.member):
            raise forms.ValidationError(phone_visibility.TOO_MANY_LOOK_UPS)
        return number
