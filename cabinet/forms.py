"""The cabinet's forms. Only `signup`, which allauth calls, has side effects."""

from datetime import datetime, timedelta
from ipaddress import ip_network
from typing import Any, cast

from allauth.core import context
from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.keys import client_tokens
from accounts.models import (
    PURPOSE_LENGTH,
    Invitation,
    Mode,
    Scope,
    User,
    every_scope,
    scopes_of_role,
)
from accounts.names import validate_company_name
from accounts.people import companies, countries, members
from accounts.people.countries import CountryField
from catalogue import languages
from parsing.days import start_of
from parsing.form_fields import DayField, LineField, SplitField
from processes.server.client_ip import client_ip


def invitation_of(request: HttpRequest | None) -> Invitation | None:
    token = request.session.get("invitation") if request else None
    return members.invitation_of(token) if token else None


class CompanyForm(forms.Form):
    company = LineField(
        label=_("Company name"),
        max_length=120,
        validators=[validate_company_name],
        widget=forms.TextInput(attrs={"autocomplete": "organization"}),
    )
    country = CountryField(
        help_text=_(
            "Where your recipients live: their numbers can be entered without a country "
            "code, and you can send there from day one."
        )
    )

    def __init__(self, *args: Any, guess: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if guess:
            self.initial.setdefault("country", guess)


class SignupForm(CompanyForm):
    """The base of allauth's sign-up form, which adds e-mail and password."""

    field_order = ("email", "company", "country", "password1")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        request = context.request
        super().__init__(*args, guess=countries.guess(request) if request else "", **kwargs)
        if invitation := invitation_of(request):
            del (
                self.fields["company"],
                self.fields["country"],
            )  # the user joins the inviting company
            self.initial.setdefault("email", invitation.email)

    def signup(self, request: HttpRequest, user: User) -> None:
        language = languages.active()
        User.objects.filter(pk=user.pk).update(language=language)
        user.language = language
        if "company" not in self.fields:
            return
        companies.sign_up_company(
            user=user,
            name=self.cleaned_data["company"],
            country=self.cleaned_data["country"],
            ip=client_ip(request.META),
        )


class ListField(SplitField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(value) if isinstance(value, list | tuple) else value


class AddressesField(ListField):
    """From which addresses and networks something may be used."""

    def __init__(self) -> None:
        super().__init__(
            label=_("Allowed IP addresses"),
            max_length=2000,
            widget=forms.Textarea(attrs={"rows": 2, "placeholder": "203.0.113.7, 198.51.100.0/24"}),
            help_text=_("Addresses or networks of your servers. Leave empty to allow any."),
        )

    def clean(self, value: Any) -> list[str]:
        return [_network(text) for text in super().clean(value)]


class KeyForm(forms.Form):
    name = LineField(
        label=_("Name"),
        max_length=60,
        help_text=_("What will use it: your site's server, an app's backend, staging…"),
    )
    mode = forms.ChoiceField(
        label=_("Mode"),
        choices=[
            (Mode.TEST, _("Test: free, nothing is sent to phones")),
            (Mode.LIVE, _("Live: real messages, tokens are charged")),
        ],
        initial=Mode.TEST,
        widget=forms.RadioSelect(attrs={"class": "form-check-input"}),
    )
    scopes = forms.MultipleChoiceField(
        label=_("Permissions"),
        widget=forms.CheckboxSelectMultiple(attrs={"class": "form-check-input"}),
    )
    allowed_ips = AddressesField()
    expires_on = DayField(
        label=_("Expires on"),
        required=False,
        help_text=_("Its last day. Leave empty to keep it until it is revoked."),
    )

    def __init__(self, *args: Any, role: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        granted = [Scope(name) for name in every_scope() if name in scopes_of_role(role)]
        field = cast("forms.MultipleChoiceField", self.fields["scopes"])
        field.choices = [(scope.value, scope.label) for scope in granted]
        field.initial = [scope.value for scope in granted]

    def clean_expires_on(self) -> datetime | None:
        day = self.cleaned_data["expires_on"]
        if day is None:
            return None
        if day < timezone.localdate():
            raise ValidationError(_("That day has passed."))
        return start_of(day + timedelta(days=1)) - timedelta(microseconds=1)


class ClientKeyForm(KeyForm):
    """A key for the client of another service: what it may do is fixed, and so is the purpose."""

    purpose = LineField(
        label=_("Purpose of its codes"),
        max_length=PURPOSE_LENGTH,
        initial="login",
        help_text=_(
            "A code is valid only for its own purpose: “login” or “payment”, say. Texts and the "
            "policy may differ by purpose."
        ),
    )
    public_key = forms.CharField(
        label=_("Public key"),
        required=False,
        max_length=client_tokens.MAX_LENGTH,
        widget=forms.Textarea(attrs={"rows": 3, "placeholder": "-----BEGIN PUBLIC KEY-----"}),
        validators=[client_tokens.validate_public_key],
        help_text=_(
            "For clients that sign tokens with a private key of their own, as Vonage's for Node "
            "does. The key's application id is shown afterwards."
        ),
    )
    field_order = ("name", "purpose", "mode")

    def __init__(self, *args: Any, role: str, **kwargs: Any) -> None:
        super().__init__(*args, role=role, **kwargs)
        del self.fields["scopes"]


def _network(text: str) -> str:
    try:
        parsed = ip_network(text, strict=False)
    except ValueError:
        raise ValidationError(
            _("%(text)s is neither an IP address nor a network."), params={"text": text}
        ) from None
    return str(parsed.network_address if parsed.num_addresses == 1 else parsed)
