"""The cabinet's forms about a company's own texts."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts.models import Language
from config.channels import Channel, join_titles
from config.input.form_fields import LineField
from otp.models import CodeText
from otp.texts import autofill, rules
from otp.texts.own_texts import SEGMENTED, WORDED


class TextForm(forms.Form):
    body = forms.CharField(
        label=_("Text"),
        max_length=CodeText.LONGEST,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 4, "autocomplete": "off"}),
    )
    locale = forms.ChoiceField(label=_("Language"), choices=Language.choices)
    channel = forms.ChoiceField(
        label=_("Channel"),
        required=False,
        choices=lambda: [("", join_titles(WORDED)), *((one.name, one.title) for one in WORDED)],
    )
    purpose = LineField(
        label=_("Purpose"),
        required=False,
        max_length=64,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text=_(
            "As your requests name it, or <code>verification</code> if they do not. Leave "
            "empty for every purpose without a text of its own."
        ),
    )
    normalised_body = ""  # set once the text is valid

    def __init__(self, *args: Any, tail: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.tail = tail
        self.fields["body"].widget.attrs["lang"] = self.language

    def clean_body(self) -> str:
        body = rules.normalise_text(self.cleaned_data["body"])
        rules.check(body)
        self.normalised_body = body
        return body

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if self.normalised_body and cleaned.get("channel") in SEGMENTED:
            try:
                rules.check_length(self.normalised_body, self.tail)
            except ValidationError as error:
                self.add_error("body", error)
        return cleaned

    @property
    def channels(self) -> list[Channel]:
        """The channels to preview the text on."""
        chosen = self["channel"].value()
        return [channel for channel in WORDED if channel.name == chosen] or WORDED

    @property
    def language(self) -> str:
        chosen = self["locale"].value()
        return str(chosen if chosen in Language.values else Language.RUSSIAN)


class AutofillForm(forms.Form):
    webotp_host = forms.CharField(
        label=_("Site where the code is entered"),
        required=False,
        widget=forms.TextInput(
            attrs={"placeholder": "example.com", "autocomplete": "off", "spellcheck": "false"}
        ),
        help_text=_(
            "The last line of an SMS becomes <code>@example.com #123456</code>: Safari and Chrome "
            "offer the code on this site and on no other."
        ),
    )
    app_hash = LineField(
        label=_("Hash of the Android app"),
        required=False,
        widget=forms.TextInput(
            attrs={"placeholder": "FA+9qCX9VSu", "autocomplete": "off", "spellcheck": "false"}
        ),
        help_text=_(
            "Eleven characters by which Android hands the SMS to your app, without asking for "
            "access to messages. Only an SMS of one part is handed over."
        ),
    )

    def clean_webotp_host(self) -> str:
        host = self.cleaned_data["webotp_host"]
        return autofill.check_host(host) if host else ""

    def clean_app_hash(self) -> str:
        app_hash = self.cleaned_data["app_hash"]
        return autofill.check_hash(app_hash) if app_hash else ""
