"""The cabinet's endpoint forms."""

from collections.abc import Iterable
from typing import Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts.models import EventKind, Mode, scopes_of_role
from accounts.webhooks import egress, endpoints
from accounts.webhooks.event_declarations import kinds_for
from config.errors import DomainError
from config.input.form_fields import LineField


def event_choices(kinds: Iterable[str] = EventKind.values) -> list[tuple[str, Any]]:
    """Event kinds as choices: label and name."""
    return [(kind, f"{EventKind(kind).label}\u00a0· {kind}") for kind in kinds]


class EndpointForm(forms.Form):
    url = forms.CharField(
        label=_("Address"),
        max_length=egress.MAX_URL_LENGTH,
        widget=forms.URLInput(
            attrs={"placeholder": "https://example.com/kvitok", "autocomplete": "off"}
        ),
        help_text=_("Where events are sent: https, port 443 or 8443, open to the internet."),
    )
    description = LineField(
        label=_("Description"),
        required=False,
        max_length=endpoints.DESCRIPTION_LENGTH,
        help_text=_("For your own reference: production site, staging…"),
    )
    kinds = forms.MultipleChoiceField(
        label=_("Events"),
        widget=forms.CheckboxSelectMultiple(attrs={"class": "form-check-input"}),
    )

    def __init__(self, *args: Any, role: str, stored: Iterable[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        allowed = {*kinds_for(scopes_of_role(role)), *stored}
        kinds = [kind for kind in EventKind.values if kind in allowed]
        field = cast("forms.MultipleChoiceField", self.fields["kinds"])
        field.choices, field.initial = event_choices(kinds), kinds

    def clean_url(self) -> str:
        try:
            return endpoints.check_url(self.cleaned_data["url"])
        except DomainError as error:
            raise ValidationError(message_of(error)) from None


class NewEndpointForm(EndpointForm):
    field_order = ("url", "description", "mode", "kinds")
    mode = forms.ChoiceField(
        label=_("Mode"),
        choices=[
            (Mode.LIVE, _("Live: what live keys send")),
            (Mode.TEST, _("Test: what test keys send, to try your receiver for free")),
        ],
        initial=Mode.LIVE,
        widget=forms.RadioSelect(attrs={"class": "form-check-input"}),
    )


class ExampleForm(forms.Form):
    kind = forms.ChoiceField(label=_("Event"), choices=[(kind, kind) for kind in EventKind.values])


def field_of(error: DomainError) -> str | None:
    """The first invalid field; None for an error of the whole form."""
    return next(iter(error.errors or ()), None)


def message_of(error: DomainError) -> str:
    """The error in the interface language: messages of fields, else its own."""
    body = error.body(request_id="")
    fields = body.get("errors")
    return (
        " ".join(text for texts in fields.values() for text in texts)
        if fields
        else str(body["message"])
    )
