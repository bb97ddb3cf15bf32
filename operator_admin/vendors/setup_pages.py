"""The admin's page of each vendor account: credentials, setup steps and a connection test."""

import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from accounts import audit
from accounts.security import reauthentication
from catalogue.account_options import Option
from catalogue.texts import StrOrPromise
from channels.models import ProviderAccount, VendorApproval
from channels.providers.base import Check, Provider
from channels.providers.declaration import ACCOUNT_NAME, SetupStep
from channels.providers.vendors import VENDORS, vendor_of
from channels.vendor_accounts import (
    approvals,
    availability,
    error_texts,
    registry,
    stored_credentials,
)
from operator_admin.doctor import processes, vendors
from operator_admin.model_pages.bases import actor
from operator_admin.site import page, page_response
from operator_admin.vendors import trial_message
from operator_admin.vendors.account_admin import CHANGE_PERMISSION
from parsing.form_fields import LineField

MAX_LENGTH = 500  # characters
ACCOUNT = "account"  # the field with an additional account's name


class CredentialsForm(forms.Form):
    """The fields of a vendor's account. A stored secret may be left empty."""

    def __init__(self, *args: Any, name: str, is_further: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.name = name
        self.is_stored = not is_further and bool(stored_credentials.options_of(name))
        # Where to find each option in the vendor's console.
        places = {key: step.where for step in registry.setup_steps(name) for key in step.options}
        if is_further:
            self.fields[ACCOUNT] = forms.RegexField(
                rf"\A{ACCOUNT_NAME.pattern}\Z",
                label=gettext_lazy("Account name"),
                help_text=gettext_lazy("Up to 12 lowercase Latin letters and digits, such as kz."),
                error_messages={
                    "invalid": gettext_lazy("Up to 12 lowercase Latin letters and digits.")
                },
            )
        for field in VENDORS[vendor_of(name)].fields:
            self.fields[field.name] = self._field(field, places.get(field.name, ""))

    def _field(self, option: Option, help_text: str) -> forms.CharField:
        keeps = option.is_secret and self.is_stored
        widget = forms.PasswordInput if option.is_secret else forms.TextInput
        attributes = {"autocomplete": "off", "spellcheck": "false", "class": "vTextField"}
        if keeps:
            attributes["placeholder"] = _("stored; leave empty to keep it")
        return LineField(
            label=str(option.label),
            required=option.is_required and not keeps,
            max_length=MAX_LENGTH,
            initial=secrets.token_urlsafe(18) if option.is_ours else option.default,
            help_text=help_text,
            widget=widget(attributes),
        )

    def clean_account(self) -> str:
        account: str = self.cleaned_data[ACCOUNT]
        name = f"{self.name}:{account}"
        if registry.is_in_environment(name) or stored_credentials.has_stored(name):
            raise ValidationError(gettext_lazy("An account with this name already exists."))
        return account

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        secret = {field.name for field in VENDORS[vendor_of(self.name)].fields if field.is_secret}
        for option, text in list(data.items()):  # add_error removes items
            if text != text.strip():
                self.add_error(
                    option, gettext_lazy("Paste it without spaces or line breaks around it.")
                )
            elif option in secret and not text.isascii():
                self.add_error(
                    option, gettext_lazy("Only Latin letters, digits and signs: copy it again.")
                )
        if data.get("username"):
            data["username"] = data["username"].removeprefix("@")
        return data


def can_be_entered(name: str) -> bool:
    return bool(VENDORS[vendor_of(name)].fields) and not registry.is_in_environment(name)


def form_for(name: str, data: Any = None) -> CredentialsForm:
    """The form with the stored values, without secrets."""
    return CredentialsForm(data, name=name, initial=stored_credentials.public_options(name))


def save(request: HttpRequest, name: str, form: CredentialsForm) -> HttpResponse:
    """Stores the form's valid input and redirects to the account's page."""
    values = dict(form.cleaned_data)
    if account := values.pop(ACCOUNT, ""):
        name = f"{name}:{account}"
    if stored_credentials.save(name=name, values=values, **actor(request)):
        availability.refresh()
        messages.success(
            request, _("Saved. Every process uses it within seconds: test the connection now.")
        )
    return redirect("admin:vendor", name)


def check_rights(request: HttpRequest) -> None:
    if not request.user.has_perm(CHANGE_PERMISSION):
        raise PermissionDenied
    if settings.OPERATOR_MFA:
        reauthentication.require(request)


@page("providers/<str:name>/remove/", "vendor-remove")
@require_POST
def remove(request: HttpRequest, name: str) -> HttpResponse:
    check_rights(request)
    if not stored_credentials.has_stored(name):
        raise Http404
    if stored_credentials.remove(name=name, **actor(request)):
        availability.refresh()
        messages.success(request, _("The credentials are removed."))
    elif stored_credentials.awaits_receipts(name):
        text = _("Messages await this account's reports. Remove it once they have an outcome.")
        messages.error(request, text)
    else:
        messages.error(request, _("Switch the account off first: it may be sending."))
    return redirect("admin:vendor", name)


@dataclass(frozen=True, slots=True)
class Result:
    """A check as text; `ok` is None if the vendor does not say."""

    title: StrOrPromise
    ok: bool | None
    detail: str
    remedy: StrOrPromise


@page("providers/<str:name>/", "vendor", "channels.provideraccount")
def show(request: HttpRequest, name: str) -> HttpResponse:
    """Shows an account; a POST stores its credentials."""
    availability.refresh()
    if request.method != "POST":
        return _page(request, name)
    if not (_is_known(name) and can_be_entered(name)):
        raise Http404
    check_rights(request)
    form = form_for(name, request.POST)
    if form.is_valid():
        return save(request, name, form)
    return _page(request, name, form=form)


@page("providers/<str:name>/add/", "vendor-add")
def add(request: HttpRequest, name: str) -> HttpResponse:
    """Adds a further account of a vendor."""
    if not _can_have_more(name):
        raise Http404
    check_rights(request)
    form = CredentialsForm(request.POST or None, name=name, is_further=True)
    if form.is_valid():
        return save(request, name, form)
    context = {"name": name, "form": form, "console": VENDORS[vendor_of(name)].console}
    return page_response(request, "vendor_add", error_texts.provider_title(name), context)


@page("providers/<str:name>/test/", "vendor-test", permission=CHANGE_PERMISSION)
@require_POST
def test_connection(request: HttpRequest, name: str) -> HttpResponse:
    """Queries the vendor; sends and changes nothing."""
    availability.refresh()
    provider = registry.live_providers().get(name)
    if provider is None:
        raise Http404
    if name in registry.hosted_providers():
        bind = dict(zip(registry.hosted_providers(), processes.binds(), strict=True))[name]
        results = [Result(vendors.TITLES["bind"], bind.ok, bind.detail, bind.remedy)]
    else:
        results = [_result(name, check) for check in vendors.check_accounts({name: provider})[name]]
    audit.record("account.tested", name, company=None, **actor(request))
    return _page(request, name, results)


def _page(
    request: HttpRequest,
    name: str,
    results: list[Result] | None = None,
    form: CredentialsForm | None = None,
) -> HttpResponse:
    if not _is_known(name):
        raise Http404
    if form is None and can_be_entered(name):
        form = form_for(name)
    context = {
        "name": name,
        "console": VENDORS[vendor_of(name)].console,
        "steps": list(_step_views(name, registry.setup_steps(name))),
        "is_configured": name in registry.live_providers(),
        "results": results,
        "missing": sum(result.ok is False for result in results or []),
        "can_change": request.user.has_perm(CHANGE_PERMISSION),
        "form": form,
        "is_in_environment": registry.is_in_environment(name),
        "has_stored": stored_credentials.has_stored(name),
        "can_have_more": _can_have_more(name),
        "can_try": request.user.has_perm("billing.add_transfer"),
        "approvals": VendorApproval.objects.filter(provider=name).order_by(
            "-is_used", "kind", "name", "language"
        ),
        "has_approvals": _has_approvals(name),
        "trial": trial_message.trial_for(name) if name in registry.live_providers() else None,
    }
    return page_response(request, "vendor", error_texts.provider_title(name), context)


@page("providers/<str:name>/approvals/", "vendor-approvals", permission=CHANGE_PERMISSION)
@require_POST
def refresh_approvals(request: HttpRequest, name: str) -> HttpResponse:
    """Reads the vendor's list of approvals and stores it."""
    availability.refresh()
    result = approvals.refresh([name]).get(name)
    if result is None:
        raise Http404
    if result.error:
        messages.error(request, _("The vendor did not answer: %(error)s") % {"error": result.error})
    elif result.found is None:
        messages.info(request, _("This account has no list of templates or senders to read."))
    else:
        messages.success(request, _("The vendor's list is read."))
    return redirect("admin:vendor", name)


def _has_approvals(name: str) -> bool:
    """Whether the account's vendor has a list of approvals."""
    provider = registry.live_providers().get(name)
    return provider is not None and type(provider).approvals is not Provider.approvals


def _is_known(name: str) -> bool:
    return (
        name in VENDORS
        or name in registry.live_providers()
        or ProviderAccount.objects.filter(name=name).exists()
    ) and vendor_of(name) in VENDORS


def _can_have_more(name: str) -> bool:
    vendor = VENDORS.get(name)
    return vendor is not None and vendor.has_further_accounts and bool(vendor.fields)


def _step_views(name: str, steps: Iterable[SetupStep]) -> Iterator[dict[str, Any]]:
    vendor = VENDORS[vendor_of(name)]
    account = name.partition(":")[2]
    options = settings.PROVIDER_ACCOUNTS.get(name, {})
    for step_number, step in enumerate(steps, start=1):
        variables = {
            vendor.variable(option, account): bool(options.get(option)) for option in step.options
        }
        yield {
            "where": step.where,
            "what": step.what,
            "variables": [{"name": name, "is_set": is_set} for name, is_set in variables.items()],
            "copies": [
                (f"copy-{step_number}-{copy_number}", text)
                for copy_number, text in enumerate(step.copies, start=1)
            ],
        }


def _result(name: str, check: Check) -> Result:
    remedy = "" if check.ok else vendors.check_remedy(name, check)
    return Result(vendors.check_title(check), check.ok, check.detail, remedy)
