"""The cabinet's forms about hooks."""

import json
from typing import Any

import orjson
from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from cabinet import fallback_forms
from cabinet.forms import AddressesField, KeyForm, PurposeField
from catalogue import custom_codes
from identity_hooks import mapping
from identity_hooks.kind import Kind
from identity_hooks.kinds import kinds
from identity_hooks.models import NAME_LENGTH, Hook
from parsing.form_fields import IntegerField, LineField, TextField
from parsing.stale_forms import RefusesStaleForm

MAX_MAPPING = 4000  # characters


class HookForm(RefusesStaleForm, forms.Form):
    name = LineField(
        label=_("Name"),
        max_length=NAME_LENGTH,
        help_text=_("For your own reference: production, staging…"),
    )
    purpose = PurposeField(
        help_text=_(
            "What the codes are for, such as login: it selects texts and policy. Leave empty to "
            "take what the server says."
        )
    )
    allowed_ips = AddressesField()

    def __init__(
        self, *args: Any, kind: Kind | None = None, channels: list[str], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.fields.update(fallback_forms.chain_fields(channels))
        first = self.fields[next(iter(fallback_forms.CHAIN_FIELDS))]
        first.label = _("First channel")
        first.help_text = _("Leave all empty to follow the company's policy.")
        if kind is not None and kind.finds_code_in_text:
            self.fields["code_length"] = IntegerField(
                label=_("Code length"),
                min_value=custom_codes.MIN_LENGTH,
                max_value=custom_codes.MAX_LENGTH,
                help_text=_("It finds the code where the server sends a sentence."),
            )
        if kind is not None and kind.has_mapping:
            self.fields["mapping"] = MappingField(label=_("Mapping"))
        self.order_fields(
            ("kind", "name", "mode", "purpose", *fallback_forms.CHAIN_FIELDS, "allowed_ips")
        )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        cleaned["channels"] = fallback_forms.take_chain(self, cleaned)
        return cleaned


class MappingField(TextField):
    """JSON that `identity_hooks.mapping` can read by."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            max_length=MAX_MAPPING,
            widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "false", "class": "code"}),
            help_text=_(
                "Where to find each value in the body: JSON pointers such as /data/to, or "
                "names joined by dots. Also: auth, only_if, lifetime, sent_at."
            ),
            **kwargs,
        )

    def prepare_value(self, value: Any) -> Any:
        return json.dumps(value, indent=2, ensure_ascii=False) if isinstance(value, dict) else value

    def to_python(self, value: Any) -> Any:
        return super().to_python(value) if not isinstance(value, dict) else value

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        try:
            stored = orjson.loads(text)  # no lone surrogates, which no page can show
        except orjson.JSONDecodeError:
            raise ValidationError(_("This is not JSON.")) from None
        if faults := mapping.validation_errors(stored):
            raise ValidationError([str(fault) for fault in faults])
        return stored


class NewHookForm(HookForm):
    kind = forms.ChoiceField(label=_("Identity server"))
    mode = KeyForm.base_fields["mode"]  # each form copies it

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, channels=[], **kwargs)
        choices = [(kind.name, kind.title) for kind in kinds().values()]
        self.fields["kind"].choices = choices  # type: ignore[attr-defined]

    def values(self) -> dict[str, Any]:
        """The arguments of `hooks.create` besides kind and mode."""
        values = {
            name: value for name, value in self.cleaned_data.items() if name not in {"kind", "mode"}
        }
        has_mapping = kinds()[self.cleaned_data["kind"]].has_mapping
        return values | {"mapping": mapping.DEFAULT} if has_mapping else values


class SecretForm(forms.Form):
    own_secret = LineField(
        label=_("The server's own secret"),
        required=False,
        max_length=255,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text=_("If the server makes the secret, enter it. Leave empty to have one made here."),
    )

    def clean_own_secret(self) -> str:
        return str(self.cleaned_data["own_secret"]).strip()


class TrialForm(forms.Form):
    phone = forms.CharField(
        label=_("Phone"),
        max_length=64,
        widget=forms.TextInput(
            attrs={"type": "tel", "autocomplete": "tel", "placeholder": "+7 916 123-45-67"}
        ),
    )


def form_for(hook: Hook, kind: Kind, data: Any, draft: dict[str, Any]) -> HookForm:
    initial = hook.settings
    channels = initial.pop("channels")
    return HookForm(data, kind=kind, channels=channels, initial=initial | draft)
