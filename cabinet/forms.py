"""The cabinet's forms, and fields for numbers as people type them (1 900, 1,900, −20), for IP
addresses and for countries. Only `signup`, which allauth calls, has side effects.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from ipaddress import ip_network
from typing import Any, cast
from urllib.parse import urlencode

import phonenumbers
from allauth.core import context
from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import get_format, number_format
from django.utils.translation import gettext_lazy as _

from accounts.keys import signed_tokens
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
from catalogue.languages import page_languages
from parsing.days import start_of
from parsing.form_fields import DayField, IntegerField, LineField, SplitField
from processes.server.client_ip import client_ip

# \s includes the no-break spaces that spreadsheets and our own pages print.
SPACES = re.compile(r"\s+")
# A comma before exactly three digits groups them, whatever the language: tokens have no fractions.
GROUPS = re.compile(r"[-+]?\d{1,3}(,\d{3})+")
GROUPS_AND_FRACTION = re.compile(r"[-+]?\d{1,3}(,\d{3})+(\.\d+)?")


def grouped(number: int) -> str:
    """1234567 → 1 234 567, with the separators of the active language."""
    return str(number_format(number, use_l10n=True, force_grouping=True))


def ungrouped(text: str) -> str:
    return SPACES.sub("", text).replace("\u2212", "-")


class FilterForm(forms.Form):
    def filters(self) -> dict[str, Any]:
        """The filters in use; an invalid field filters nothing and shows its error."""
        self.is_valid()
        return {name: value for name, value in self.cleaned_data.items() if value}

    @property
    def query(self) -> str:
        """The query string of the filters in use."""
        return urlencode([(name, self.data[name]) for name in self.filters()])


class ModeFilterForm(FilterForm):
    mode = forms.ChoiceField(
        choices=Mode.choices, required=False, initial=Mode.LIVE, widget=forms.HiddenInput
    )

    @property
    def mode_chosen(self) -> str:
        return str(self.filters().get("mode", Mode.LIVE))


class PurposeField(LineField):
    """The purpose of a code, in the client's own words."""

    def __init__(self, **kwargs: Any) -> None:
        widget = forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"})
        kwargs |= {"required": False, "max_length": PURPOSE_LENGTH, "widget": widget}
        super().__init__(label=_("Purpose"), **kwargs)


class GroupedIntegerField(IntegerField):
    """A whole number. Its widget is text: `<input type=number>` refuses spaces by itself."""

    def __init__(self, **kwargs: Any) -> None:
        attrs = {"inputmode": "numeric", "autocomplete": "off"}
        kwargs.setdefault("widget", forms.TextInput(attrs=attrs))
        super().__init__(**kwargs)

    def prepare_value(self, value: Any) -> Any:
        return grouped(value) if isinstance(value, int) else value

    def to_python(self, value: Any) -> int | None:
        if isinstance(value, str):
            value = ungrouped(value)
            value = value.replace(",", "") if GROUPS.fullmatch(value) else value
        return super().to_python(value)


class GroupedDecimalField(forms.DecimalField):
    """An amount of money. The language decides about commas: 1 900,00 or 1,900.00."""

    def __init__(self, **kwargs: Any) -> None:
        attrs = {"inputmode": "decimal", "autocomplete": "off"}
        kwargs.setdefault("widget", forms.TextInput(attrs=attrs))
        kwargs.setdefault("localize", True)
        super().__init__(**kwargs)

    def to_python(self, value: Any) -> Any:
        if isinstance(value, str):
            value = ungrouped(value)
            groups = get_format("DECIMAL_SEPARATOR") == "." and GROUPS_AND_FRACTION.fullmatch(value)
            value = value.replace(",", "") if groups else value
            if "_" in value:  # which Python accepts
                raise ValidationError(self.error_messages["invalid"], code="invalid")
        return super().to_python(value)


SEPARATORS = re.compile(r"[,;\n]+")
GROUP_TITLES = {
    countries.CIS: _("CIS"),
    countries.EAEU: _("Eurasian Economic Union"),
    countries.EU: _("European Union"),
}


@dataclass(frozen=True, slots=True)
class Option:
    code: str
    name: str
    dial_code: int
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class Region:
    name: str
    options: list[Option]

    @property
    def chosen(self) -> int:
        return sum(option.is_chosen for option in self.options)


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    title: Any
    codes: str


def groups() -> list[Group]:
    return [Group(name, title, countries.GROUPS[name]) for name, title in GROUP_TITLES.items()]


def by_region(codes: set[str]) -> list[Region]:
    return [
        Region(title, [_option(code, name, codes) for code, name in names.items()])
        for title, names in countries.by_region(page_languages.active())
    ]


def _option(code: str, name: str, codes: set[str]) -> Option:
    return Option(code, name, phonenumbers.country_code_for_region(code), code in codes)


class CountriesField(forms.MultipleChoiceField):
    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("choices", [(code, code) for code in sorted(countries.CODES)])
        super().__init__(required=False, **kwargs)


class CountryCodesField(SplitField):
    """Codes and names, separated by commas, spaces or lines; becomes a list of codes."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, max_length=2000, **kwargs)

    def split(self, text: str) -> list[str]:
        parts = [part.strip() for part in SEPARATORS.split(text)]
        return list(dict.fromkeys(code for part in parts if part for code in _codes(part)))


def _codes(part: str) -> list[str]:
    code = _code(part)
    return [code] if code else [_code(word) or _refuse(word) for word in part.split()]


def _code(text: str) -> str | None:
    """The country's code, from a code or a name in one of the languages."""
    return text.upper() if text.upper() in countries.CODES else _by_name().get(_plain(text))


@cache
def _by_name() -> dict[str, str]:
    return {
        _plain(name): code
        for language in page_languages.codes()
        for code, name in countries.names(language).items()
    }


def _plain(name: str) -> str:
    return name.casefold().replace("ё", "е")


def _refuse(word: str) -> str:
    raise ValidationError(_("%(code)s is not a country code."), params={"code": word})


class ListField(SplitField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, **kwargs)

    def prepare_value(self, value: Any) -> Any:
        return ", ".join(value) if isinstance(value, list | tuple) else value


class AddressesField(ListField):
    """IP addresses and networks from which something may be used."""

    def __init__(self) -> None:
        super().__init__(
            label=_("Allowed IP addresses"),
            max_length=2000,
            widget=forms.Textarea(attrs={"rows": 2, "placeholder": "203.0.113.7, 198.51.100.0/24"}),
            help_text=_("Addresses or networks of your servers. Leave empty to allow any."),
        )

    def clean(self, value: Any) -> list[str]:
        return [_network(text) for text in super().clean(value)]


IPV4_IN_IPV6 = 96  # bits before the address: RFC 4291, 2.5.5.2


def _network(text: str) -> str:
    try:
        parsed = ip_network(text, strict=False)
    except ValueError:
        raise ValidationError(
            _("%(text)s is neither an IP address nor a network."), params={"text": text}
        ) from None
    mapped = getattr(parsed.network_address, "ipv4_mapped", None)
    if mapped is not None and parsed.prefixlen >= IPV4_IN_IPV6:  # as dual-stack sockets log it
        parsed = ip_network((mapped, parsed.prefixlen - IPV4_IN_IPV6))
    return str(parsed.network_address if parsed.num_addresses == 1 else parsed)


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
            # The user joins the inviting company.
            del self.fields["company"], self.fields["country"]
            self.initial.setdefault("email", invitation.email)

    def signup(self, request: HttpRequest, user: User) -> None:
        language = page_languages.active()
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
    """A key for another service's client: its permissions are fixed, and it has one purpose."""

    purpose = LineField(
        label=_("Purpose of its codes"),
        max_length=PURPOSE_LENGTH,
        initial="login",
        help_text=_(
            "A code is valid only for its own purpose, such as “login” or “payment”. Texts "
            "and the policy may differ by purpose."
        ),
    )
    public_key = forms.CharField(
        label=_("Public key"),
        required=False,
        max_length=signed_tokens.MAX_LENGTH,
        widget=forms.Textarea(attrs={"rows": 3, "placeholder": "-----BEGIN PUBLIC KEY-----"}),
        validators=[signed_tokens.validate_public_key],
        help_text=_(
            "For clients that sign tokens with a private key of their own, as Vonage's for Node "
            "does. The key's application id is shown afterwards."
        ),
    )
    field_order = ("name", "purpose", "mode")

    def __init__(self, *args: Any, role: str, **kwargs: Any) -> None:
        super().__init__(*args, role=role, **kwargs)
        del self.fields["scopes"]
