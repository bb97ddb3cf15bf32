"""The operator's form of a company, with a field for each channel's patience."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.admin.widgets import AdminIntegerFieldWidget
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.models import Company
from cabinet import fallback_forms
from parsing.form_fields import IntegerField

if TYPE_CHECKING:
    CompanyModelForm = forms.ModelForm[Company]
else:
    CompanyModelForm = forms.ModelForm  # generic in the stubs alone


class PatienceForm(CompanyModelForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, channel in fallback_forms.PATIENCE.items():
            self.initial[name] = self.instance.patience.get(channel.name)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        fallback_forms.clean_patience(cleaned)
        self.instance.patience = cleaned["patience"]
        return cleaned


# The admin asks the class for its fields.
CompanyForm = type(
    "CompanyForm",
    (PatienceForm,),
    {
        name: IntegerField(
            label=format_lazy(_("Seconds for a proof by {channel}"), channel=channel.title),
            required=False,
            min_value=1,
            widget=AdminIntegerFieldWidget,
        )
        for name, channel in fallback_forms.PATIENCE.items()
    },
)


def with_patience(names: list[Any]) -> list[Any]:
    """The fields in page order: the patience of each channel follows the chain."""
    others = [name for name in names if name not in fallback_forms.PATIENCE]
    place = others.index("fallback_chain") + 1
    return [*others[:place], *fallback_forms.PATIENCE, *others[place:]]
