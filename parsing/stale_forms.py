"""Refuses a form if the stored values changed since it was opened: saving would undo that change.

A page sends every field, even unchanged ones. A hidden field holds a fingerprint of the values that
were stored when it was opened. A POST without the field, such as a script's, is accepted.
"""

import json
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy as _

VERSION = "version"
STALE_FORM = _(
    "Somebody has changed this since you opened the page, and saving would undo it. Open the page "
    "again and repeat your change."
)


def version_of(form: forms.BaseForm, rows: object = None) -> str:
    """A fingerprint of the stored values, independent of what a person has filled in."""
    fields = {name: field.initial for name, field in form.fields.items()}
    shown = {**fields, **form.initial, VERSION: None}
    # Without empty fields: a country has a field only while it is in use.
    fields_shown = {name: value for name, value in shown.items() if value is not None}
    text = json.dumps([fields_shown, rows], sort_keys=True, default=str)
    return salted_hmac("stale_forms.version", text, algorithm="sha256").hexdigest()[:20]


class RefusesStaleForm(forms.BaseForm):
    """A form whose `initial` has the stored values, or earlier input with its version."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields[VERSION] = forms.CharField(
            required=False, widget=forms.HiddenInput, initial=lambda: version_of(self)
        )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        submitted = self.cleaned_data.pop(VERSION, "")
        if submitted and submitted != version_of(self):
            raise ValidationError(STALE_FORM, code="stale")
        return cleaned
