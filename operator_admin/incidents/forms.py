"""Forms of incidents: the operator's words in both languages, whom they are for, until when."""

from typing import Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from catalogue.channels import CHANNELS
from operator_admin.incidents import timeline
from operator_admin.incidents.timeline import NewIncident, Wording
from operator_admin.models import TEXT_LENGTH, TITLE_LENGTH, Incident
from parsing.form_fields import LineField, MomentField, TextField

_WIDE = {"class": "vTextField"}


def _area() -> forms.Textarea:
    return forms.Textarea({"rows": 4, "class": "vLargeTextField"})


def _moment() -> forms.DateTimeInput:
    return forms.DateTimeInput({"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")


class IncidentForm(forms.Form):
    channel = forms.ChoiceField(label=_("What is affected"), required=False)
    impact = forms.ChoiceField(label=_("Impact"), choices=Incident.Impact.choices)
    title_ru = LineField(
        label=_("Title in Russian"), max_length=TITLE_LENGTH, widget=forms.TextInput(_WIDE)
    )
    text_ru = TextField(label=_("Text in Russian"), max_length=TEXT_LENGTH, widget=_area())
    title_en = LineField(
        label=_("Title in English"), max_length=TITLE_LENGTH, widget=forms.TextInput(_WIDE)
    )
    text_en = TextField(label=_("Text in English"), max_length=TEXT_LENGTH, widget=_area())
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
        channels = [(channel.name, channel.title) for channel in CHANNELS]
        self.fields["channel"].choices = [("", timeline.SERVICE), *channels]  # type: ignore[attr-defined]

    def clean_country(self) -> str:
        return str(self.cleaned_data["country"]).upper()

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        start, end = data.get("shown_from") or timezone.now(), data.get("shown_until")
        if end and end <= start:
            self.add_error("shown_until", _("It must end after it begins, and in the future."))
        return data

    def incident(self) -> NewIncident:
        data = self.cleaned_data
        return NewIncident(
            title=Wording(data["title_ru"], data["title_en"]),
            text=Wording(data["text_ru"], data["text_en"]),
            impact=data["impact"],
            channel=data["channel"],
            country=data["country"],
            is_public=data["is_public"],
            shown_from=data["shown_from"],
            shown_until=data["shown_until"],
        )


def usual(impact: str, channel: str) -> dict[str, Any]:
    """What the form is filled with: the usual words for this."""
    title, text = timeline.title(impact, channel), timeline.first_text(impact)
    return {
        "impact": impact,
        "channel": channel,
        "title_ru": title.ru,
        "title_en": title.en,
        "text_ru": text.ru,
        "text_en": text.en,
    }


class UpdateForm(forms.Form):
    state = forms.ChoiceField(label=_("State"), choices=Incident.State.choices)
    text_ru = TextField(
        label=_("Text in Russian"), max_length=TEXT_LENGTH, required=False, widget=_area()
    )
    text_en = TextField(
        label=_("Text in English"), max_length=TEXT_LENGTH, required=False, widget=_area()
    )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        for given, missing in (("text_ru", "text_en"), ("text_en", "text_ru")):
            if data.get(given) and not data.get(missing) and missing not in self.errors:
                self.add_error(missing, _("Fill in both languages, or neither."))
        return data

    def text(self) -> Wording | None:
        """None: the usual words."""
        data = self.cleaned_data
        return Wording(data["text_ru"], data["text_en"]) if data["text_ru"] else None
