"""Entering a vendor account's credentials in the admin, and removing them."""

import secrets
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _t
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from accounts.client_ip import client_ip
from accounts.model_admin.admin import operator
from accounts.security import reauthentication
from channels.providers.declaration import ACCOUNT_NAME
from channels.providers.vendors import VENDORS, vendor_of
from channels.vendor_accounts import availability, registry, stored_credentials
from config.environment.options import Option
from config.input.form_fields import LineField
from operator_admin.vendors.account_admin import CHANGE

LONGEST = 500  # characters
ACCOUNT = "account"  # the field with the name of a further account


class CredentialsForm(forms.Form):
    """The fields that the vendor's account needs. A secret that is stored may be left empty."""

    def __init__(self, *args: Any, name: str, is_further: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.name = name
        self.is_stored = not is_further and stored_credentials.has_stored(name)
        # Where in the vendor's console each option is found.
        places = {one: step.where for step in registry.guide(name).steps for one in step.options}
        if is_further:
            self.fields[ACCOUNT] = forms.RegexField(
                rf"\A{ACCOUNT_NAME.pattern}\Z",
                label=_("Name of the account"),
                help_text=_("Up to 12 small Latin letters and digits, such as kz."),
                error_messages={"invalid": _("Up to 12 small Latin letters and digits.")},
            )
        for one in VENDORS[vendor_of(name)].fields:
            self.fields[one.name] = self._field(one, places.get(one.name, ""))

    def _field(self, one: Option, place: str) -> forms.CharField:
        keeps = one.is_secret and self.is_stored
        widget = forms.PasswordInput if one.is_secret else forms.TextInput
        attributes = {"autocomplete": "off", "spellcheck": "false", "class": "vTextField"}
        if keeps:
            attributes["placeholder"] = _t("stored; leave empty to keep it")
        return LineField(
            label=str(one.label),
            required=one.is_required and not keeps,
            max_length=LONGEST,
            initial=secrets.token_urlsafe(18) if one.is_ours else one.default,
            help_text=place,
            widget=widget(attributes),
        )

    def clean_account(self) -> str:
        account: str = self.cleaned_data[ACCOUNT]
        name = f"{self.name}:{account}"
        if registry.is_in_environment(name) or stored_credentials.has_stored(name):
            raise ValidationError(_("An account with this name already exists."))
        return account

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        secret = {one.name for one in VENDORS[vendor_of(self.name)].fields if one.is_secret}
        for option, text in list(data.items()):  # an error removes one
            if text != text.strip():
                self.add_error(option, _("Paste it without spaces and line breaks around it."))
            elif option in secret and not text.isascii():
                self.add_error(option, _("Only Latin letters, digits and signs: copy it anew."))
        if data.get("username"):
            data["username"] = data["username"].removeprefix("@")
        return data


def can_be_entered(name: str) -> bool:
    return bool(VENDORS[vendor_of(name)].fields) and not registry.is_in_environment(name)


def form_for(name: str, data: Any = None) -> CredentialsForm:
    """With what is stored, secrets left out."""
    return CredentialsForm(data, name=name, initial=stored_credentials.shown(name))


def save(request: HttpRequest, name: str, form: CredentialsForm) -> HttpResponse:
    """Stores the form's valid input and leads to the account's page."""
    values = dict(form.cleaned_data)
    if account := values.pop(ACCOUNT, ""):
        name = f"{name}:{account}"
    user, ip = operator(request), client_ip(request.META)
    if stored_credentials.save(name=name, values=values, user=user, ip=ip):
        availability.refresh()
        messages.success(
            request, _t("Saved. Every process uses it within seconds: test the connection now.")
        )
    return HttpResponseRedirect(reverse("admin:vendor", args=[name]))


def check_rights(request: HttpRequest) -> None:
    if not request.user.has_perm(CHANGE):
        raise PermissionDenied
    if settings.OPERATOR_MFA:
        reauthentication.require(request)


@require_POST
def remove(request: HttpRequest, name: str) -> HttpResponse:
    check_rights(request)
    user, ip = operator(request), client_ip(request.META)
    if not stored_credentials.has_stored(name):
        raise Http404
    if stored_credentials.remove(name=name, user=user, ip=ip):
        availability.refresh()
        messages.success(request, _t("The credentials are removed."))
    else:
        messages.error(request, _t("Switch the account off first: it may be sending."))
    return HttpResponseRedirect(reverse("admin:vendor", args=[name]))
