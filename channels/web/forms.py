"""Filter forms of the message history."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.forms.models import ModelChoiceIterator
from django.utils.translation import get_language, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from accounts.models import ApiKey, Member
from accounts.people import countries, phone_visibility
from api.body_admission import source_apis
from cabinet.forms import FilterForm, ModeFilterForm
from catalogue import channels
from catalogue.ids import parse_id, started_at
from channels.history.messages import WITHOUT_KEY
from channels.models import Message, stored_fields
from channels.recipients import phone_search
from parsing import clipboard
from parsing.form_fields import DayBoundField, LineField


class PhoneFilter(FilterForm):
    phone = forms.CharField(
        label=_("Phone"),
        max_length=64,
        required=False,
        widget=forms.TextInput(attrs={"inputmode": "tel", "placeholder": "+7 916 123-45-67"}),
    )

    def __init__(self, *args: Any, member: Member, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.member = member

    def clean_phone(self) -> str:
        phone = clipboard.plain(self.cleaned_data["phone"])
        if phone and not any(char in "0123456789" for char in phone):
            raise ValidationError(_("Enter the number, its prefix or its last four digits."))
        if phone and not self.member.can_see_phones:
            # A prefix search, extended digit by digit, would reveal the masked digits.
            number = phone_search.whole_number(phone, self.member.company.country)
            if number is None:
                raise ValidationError(_("Enter the full number: your role sees masked phones."))
            if not phone_visibility.may_look_up(number, self.member):
                raise ValidationError(phone_visibility.TOO_MANY_LOOK_UPS)
        return phone


def _with_any(label: Any, choices: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    return [("", label), *choices]


if TYPE_CHECKING:
    KeyChoiceField = forms.ModelChoiceField[ApiKey]
    KeyChoiceIterator = ModelChoiceIterator[ApiKey]
else:  # generic only in the stubs
    KeyChoiceField = forms.ModelChoiceField
    KeyChoiceIterator = ModelChoiceIterator


class KeyChoices(KeyChoiceIterator):
    def __iter__(self) -> Iterator[Any]:
        yield from super().__iter__()
        yield WITHOUT_KEY, _("without a key: cabinet, identity servers")


class KeyField(KeyChoiceField):
    iterator = KeyChoices

    def label_from_instance(self, obj: ApiKey) -> str:
        return f"{obj.name} ({obj})"

    def to_python(self, value: Any) -> Any:
        return value if value == WITHOUT_KEY else super().to_python(value)


def _source_choices() -> list[tuple[str, Any]]:
    titles = sorted(source_apis.items(), key=lambda source: str(source[1]).casefold())
    return _with_any(pgettext_lazy("source", "any"), titles)


class ExactField(LineField):
    """A text of the company's own, matched exactly."""

    def __init__(self, **kwargs: Any) -> None:
        widget = forms.TextInput(attrs={"spellcheck": "false"})
        super().__init__(required=False, strip=False, widget=widget, **kwargs)


class HistoryFilter(ModeFilterForm, PhoneFilter):
    id = LineField(
        label=_("Message or request id"),
        max_length=60,
        required=False,
        widget=forms.TextInput(attrs={"placeholder": "msg_… / req_…", "spellcheck": "false"}),
    )
    channel = forms.ChoiceField(
        label=_("Channel"), choices=_with_any(_("any"), channels.choices()), required=False
    )
    state = forms.ChoiceField(
        label=_("Status"), choices=_with_any(_("any"), Message.State.choices), required=False
    )
    kind = forms.ChoiceField(
        label=_("Kind"), choices=_with_any(_("any"), Message.Kind.choices), required=False
    )
    api_key = KeyField(
        label=_("Key"), queryset=ApiKey.objects.none(), required=False, empty_label=_("any")
    )
    door = forms.ChoiceField(label=_("Source"), choices=_source_choices, required=False)
    country = forms.ChoiceField(label=_("Country"), required=False)
    purpose = ExactField(label=_("Purpose"), max_length=64)
    date_from = DayBoundField(label=_("From"), required=False)
    date_to = DayBoundField(label=_("To"), required=False)

    def __init__(self, *args: Any, member: Member, **kwargs: Any) -> None:
        super().__init__(*args, member=member, **kwargs)
        keys = cast(KeyField, self.fields["api_key"])
        keys.queryset = member.company.api_keys.all()
        listed = countries.names(get_language() or settings.LANGUAGE_CODE)
        choices = cast(forms.ChoiceField, self.fields["country"])
        choices.choices = _with_any(pgettext_lazy("country", "any"), list(listed.items()))
        self.fields |= {
            field.name: ExactField(
                label=field.title,
                max_length=field.filter.schema["maxLength"],
                validators=[self._check_look_up],
            )
            for field in stored_fields.FIELDS
        }
        self.order_fields(("phone", "mode", "id", *stored_fields.NAMES))

    def _check_look_up(self, text: str) -> None:
        if not phone_visibility.may_look_up_text(text, self.member):
            raise ValidationError(phone_visibility.TOO_MANY_LOOK_UPS)

    def clean_id(self) -> str:
        text: str = self.cleaned_data["id"].strip().lower()
        if text and not (parse_id("msg", text) or started_at(text)):
            raise ValidationError(_("Enter the full id: it starts with msg_ or req_."))
        return text
