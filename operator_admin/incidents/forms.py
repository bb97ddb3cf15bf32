"""Forms of incidents: texts in each language, their audience and period."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from catalogue.channels import CHANNELS
from catalogue.languages import page_languages
from operator_admin.incidents import timeline
from operator_admin.incidents.timeline import Wording
from operator_admin.models import TEXT_LENGTH, TITLE_LENGTH, Incident
from parsing.form_fields import LineField, MomentField, TextField

_WIDE = {"class": "vTextField"}


def _text_field(language: str, *, required: bool = True) -> TextField:
    label = format_lazy("{} ({})", _("Text"), language)
    return TextField(
        label=label,
        max_length=TEXT_LENGTH,
        required=required,
        widget=forms.Textarea({"rows": 4, "class": "vLargeTextField"}),
    )


def _wording(data: Mapping[str, Any], part: str) -> Wording:
    return {code: data[f"{part}_{code}"] for code in page_languages.codes()}


def _moment() -> forms.DateTimeInput:
    return forms.DateTimeInput({"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")


class IncidentForm(forms.Form):
    channel = forms.ChoiceField(label=_("What is affected"), required=False)
    impact = forms.ChoiceField(label=_("Impact"), choices=Incident.Impact.choices)
    country = forms.RegexField(
        r"\A[A-Za-z]{2}\Z",
        label=_("Only companies of this country"),
        required=False,
        help_text=_("Two letters, such as KZ. Leave empty for companies of every country."),
        error_messages={"invalid": _("Two letters, such as KZ.")},
        widget=forms.TextInput({"maxlength": "2", "size": "4", "autocapitalize": "characters"}),
    )
    shown_from = MomentField(
        label=_("Show the notice from"),
        required=False,
        help_text=_("Leave empty to show it now."),
        widget=_moment(),
    )
    shown_until = MomentField(
        label=_("Show the notice until"),
        required=False,
        help_text=_("Leave empty to show it until the incident is resolved."),
        widget=_moment(),
    )
    is_public = forms.BooleanField(
        label=_("Show it on the public status page"), required=False, initial=True
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for code, name in page_languages.choices():
            self.fields[f"title_{code}"] = LineField(
                label=format_lazy("{} ({})", _("Title"), name),
                max_length=TITLE_LENGTH,
                widget=forms.TextInput(_WIDE),
            )
            self.fields[f"text_{code}"] = _text_field(name)
        self.order_fields(["channel", "impact", *self._text_field_names()])
        channels = [(channel.name, channel.title) for channel in CHANNELS]
        self.fields["channel"].choices = [("", timeline.SERVICE), *channels]  # type: ignore[attr-defined]

    @staticmethod
    def _text_field_names() -> list[str]:
        return [f"{part}_{code}" for code in page_languages.codes() for part in ("title", "text")]

    def clean_country(self) -> str:
        return str(self.cleaned_data["country"]).upper()

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        start, end = data.get("shown_from") or timezone.now(), data.get("shown_until")
        if end and end <= start:
            self.add_error("shown_until", _("It must end after it begins, and in the future."))
        return data

    def incident(self) -> dict[str, Any]:
        """The arguments of `timeline.open_incident`."""
        data = self.cleaned_data
        names = ("impact", "channel", "country", "is_public", "shown_from", "shown_until")
        wording = {"titles": _wording(data, "title"), "text": _wording(data, "text")}
        return wording | {name: data[name] for name in names}


def initial_values(impact: str, channel: str) -> dict[str, Any]:
    """The form's initial values, with the standard texts."""
    parts = {"title": timeline.title(impact, channel), "text": timeline.first_text(impact)}
    initial = {f"{part}_{code}": texts[code] for part, texts in parts.items() for code in texts}
    return {"impact": impact, "channel": channel, **initial}


class UpdateForm(forms.Form):
    state = forms.ChoiceField(label=_("State"), choices=Incident.State.choices)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for code, name in page_languages.choices():
            self.fields[f"text_{code}"] = _text_field(name, required=False)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        texts = {f"text_{code}": data.get(f"text_{code}") for code in page_languages.codes()}
        for name, text in texts.items():
            if any(texts.values()) and not text and name not in self.errors:
                self.add_error(name, _("Fill in each language, or none."))
        return data

    def text(self) -> Wording | None:
        """The text; None for the standard text."""
        texts = _wording(self.cleaned_data, "text")
        return texts if all(texts.values()) else None
