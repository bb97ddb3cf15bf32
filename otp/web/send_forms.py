"""The cabinet's forms that send a message."""

import re
from typing import Any, cast
from uuid import uuid4

from django import forms
from django.urls import reverse
from django.utils.text import format_lazy
from django.utils.translation import gettext, ngettext, ngettext_lazy
from django.utils.translation import gettext_lazy as _

from accounts.models import Company, Mode
from billing import message_prices
from billing.wallet import ledger
from catalogue.channels import CHANNELS, Channel
from catalogue.errors import DomainError, Error
from catalogue.languages import message_languages
from catalogue.texts import StrOrPromise
from channels import phone_numbers
from channels.models import Message
from links.api.fields import TEXT_LENGTH
from otp.web.calls import CODE
from parsing import clipboard
from parsing.form_fields import LineField, TextField

FIELD_OF = {Error.INVALID_PHONE: "phone", Error.COUNTRY_NOT_ALLOWED: "phone"} | {
    Error.URL_NOT_ALLOWED: "url"
}
MINUTE = 60  # seconds


def _priced(channel: Channel, country: str) -> StrOrPromise:
    price = message_prices.price_of(channel.name, country)
    tokens = ngettext_lazy("%(n)d token", "%(n)d tokens", "n") % {"n": price}
    return format_lazy("{title} · {tokens}", title=channel.title, tokens=tokens)


def _country(phone: str, company: Company) -> str:
    """The country of the typed number; without a valid one the company's."""
    try:
        return phone_numbers.country_of(phone_numbers.normalise(phone, company.country))
    except DomainError:
        return company.country


def _first_mode(company: Company) -> Mode:
    """The mode selected at first: live if the company could send a live message.

    It can if it is approved and has tokens for the cheapest channel.
    """
    available = ledger.balance(company.pk).available
    is_able = company.status == Company.Status.APPROVED and available >= min(
        message_prices.price_of(channel.name, company.country) for channel in CHANNELS
    )
    return Mode.LIVE if is_able else Mode.TEST


class SendForm(forms.Form):
    """The fields shared by a code and a link."""

    kind: str

    token = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)
    phone = forms.CharField(
        label=_("Phone"),
        max_length=64,
        widget=forms.TextInput(
            attrs={
                "type": "tel",
                "autocomplete": "tel",
                "placeholder": "+7 916 123-45-67",
                "autofocus": True,
                # The prices next to the channels are those of the number's country.
                "hx-trigger": "change delay:100ms",
                "hx-target": "#id_channel",
                "hx-include": "#id_channel",
            }
        ),
    )
    mode = forms.ChoiceField(
        label=_("Mode"),
        choices=[
            (Mode.LIVE, _("Live: to the phone, charged once it is delivered")),
            (Mode.TEST, _("Test: free, nothing goes to the phone")),
        ],
        widget=forms.RadioSelect(attrs={"class": "form-check-input"}),
    )
    channel = forms.ChoiceField(label=_("Channel"), required=False)
    locale = forms.ChoiceField(
        label=_("Language of the message"),
        choices=message_languages.grouped_choices,
        required=False,
    )

    def __init__(self, *args: Any, company: Company, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.is_bound:
            self.initial.setdefault("mode", _first_mode(company))
        self.initial.setdefault("locale", company.language)
        address = f"{reverse('send-channels')}?kind={self.kind}"
        self.fields["phone"].widget.attrs["hx-get"] = address
        phone = self.data.get("phone") or self.initial.get("phone", "")
        country = _country(phone, company)
        channels = [row for row in CHANNELS if self.kind in row.contents]
        priced = [(row.name, _priced(row, country)) for row in channels]
        channel = cast(forms.ChoiceField, self.fields["channel"])
        channel.choices = [("", _("As in the company's settings")), *priced]

    @property
    def main(self) -> list[forms.BoundField]:
        return [field for field in self if field.name not in {"token", "locale", "purpose"}]

    @property
    def options(self) -> list[forms.BoundField]:
        return [self[name] for name in ("purpose", "locale") if name in self.fields]

    @property
    def has_faulty_options(self) -> bool:
        return any(field.errors for field in self.options)

    def request_fields(self) -> dict[str, str]:
        """The filled-in fields in the form of the API's call."""
        values = self.cleaned_data.items()
        return {name: text for name, text in values if text and name not in {"token", "mode"}}

    def add_refusal(self, error: DomainError) -> None:
        """Shows the reason why nothing was sent, at the invalid field or above the form."""
        if error.error is Error.INSUFFICIENT_TOKENS:  # its own text is in Russian only
            self.add_error(None, gettext("Not enough tokens: nothing was sent."))
            return
        for name, texts in (error.errors or {}).items():
            self._add(name, [str(text) for text in texts])
        if not error.errors:
            self._add(FIELD_OF.get(error.error, ""), [str(error.message)])
        if error.retry_after:
            self.add_error(None, _wait(error.retry_after))

    def _add(self, name: str, texts: list[str]) -> None:
        for text in texts:
            self.add_error(name if name in self.fields else None, text)


def _wait(seconds: int) -> str:
    if seconds < 2 * MINUTE:
        text = ngettext("Try again in %(n)d second.", "Try again in %(n)d seconds.", seconds)
        return text % {"n": seconds}
    minutes = -(-seconds // MINUTE)
    text = ngettext("Try again in %(n)d minute.", "Try again in %(n)d minutes.", minutes)
    return text % {"n": minutes}


class SendCodeForm(SendForm):
    kind = Message.Kind.CODE.value
    field_order = ("phone", "channel", "mode")

    purpose = LineField(
        label=_("Purpose"),
        max_length=64,
        required=False,
        help_text=_("A code is valid for its own purpose only. Leave empty for the default one."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


class SendLinkForm(SendForm):
    kind = Message.Kind.LINK.value
    field_order = ("phone", "url", "text", "channel", "mode")

    url = forms.CharField(
        label=_("Destination"),
        max_length=2048,
        widget=forms.URLInput(attrs={"placeholder": "https://", "autocomplete": "off"}),
    )
    text = TextField(
        label=_("Text of the message (optional)"),
        max_length=TEXT_LENGTH,
        required=False,
        help_text=_("The short link takes the place of :link, or comes last."),
        widget=forms.Textarea(attrs={"rows": 3}),
    )


class CodeForm(forms.Form):
    """The form for the code that a person read on the phone."""

    code = forms.CharField(
        label=_("Code from the message"),
        max_length=20,
        widget=forms.TextInput(
            attrs={"inputmode": "numeric", "autocomplete": "one-time-code", "autofocus": True}
        ),
    )

    def clean_code(self) -> str:
        code = clipboard.code(self.cleaned_data["code"])
        if not re.fullmatch(CODE.schema["pattern"], code):
            raise forms.ValidationError(str(CODE.error))  # a malformed code spends no attempt
        return code
