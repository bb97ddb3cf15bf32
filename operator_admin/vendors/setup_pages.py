"""The admin's page of each vendor account: setup steps and a connection test."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.audit import events
from accounts.client_ip import client_ip
from accounts.model_admin.admin import operator
from channels.models import ProviderAccount, VendorApproval
from channels.providers.base import Check, Provider
from channels.providers.declaration import Snippet, Step
from channels.providers.vendors import VENDORS, vendor_of
from channels.vendor_accounts import (
    approvals,
    availability,
    error_texts,
    registry,
    stored_credentials,
)
from config.texts import StrOrPromise
from operator_admin.doctor import processes, vendor_texts, vendors
from operator_admin.site import page
from operator_admin.vendors import credential_pages, trial_message
from operator_admin.vendors.account_admin import CHANGE
from operator_admin.vendors.credential_pages import CredentialsForm


@dataclass(frozen=True, slots=True)
class Result:
    """A check in words; `ok` is None if the vendor does not say."""

    title: StrOrPromise
    ok: bool | None
    detail: str
    cure: StrOrPromise


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    is_set: bool


@dataclass(frozen=True, slots=True)
class StepView:
    where: str
    what: StrOrPromise
    variables: list[Variable]
    copies: list[tuple[str, Snippet]]  # (HTML id, snippet)


@page("providers/<str:name>/", "vendor")
def show(request: HttpRequest, name: str) -> HttpResponse:
    """A POST stores the credentials."""
    availability.refresh()
    if request.method != "POST":
        return _page(request, name)
    if not (_is_known(name) and credential_pages.can_be_entered(name)):
        raise Http404
    credential_pages.check_rights(request)
    form = credential_pages.form_for(name, request.POST)
    if form.is_valid():
        return credential_pages.save(request, name, form)
    return _page(request, name, form=form)


@page("providers/<str:name>/add/", "vendor-add")
def add(request: HttpRequest, name: str) -> HttpResponse:
    """A further account of a vendor."""
    if not _can_have_more(name):
        raise Http404
    credential_pages.check_rights(request)
    form = credential_pages.CredentialsForm(request.POST or None, name=name, is_further=True)
    if form.is_valid():
        return credential_pages.save(request, name, form)
    context = {
        **admin.site.each_context(request),
        "title": error_texts.provider_title(name),
        "name": name,
        "form": form,
        "console": registry.guide(name).console,
    }
    return TemplateResponse(request, "operator_admin/vendor_add.html", context)


@page("providers/<str:name>/remove/", "vendor-remove")
def remove(request: HttpRequest, name: str) -> HttpResponse:
    return credential_pages.remove(request, name)


@page("providers/<str:name>/test/", "vendor-test")
@require_POST
def test_connection(request: HttpRequest, name: str) -> HttpResponse:
    """Queries the vendor; sends and changes nothing."""
    if not request.user.has_perm(CHANGE):
        raise PermissionDenied
    availability.refresh()
    provider = registry.live_providers().get(name)
    if provider is None:
        raise Http404
    if name in registry.hosted_providers():
        results = [_bind_result(name)]
    else:
        results = [_result(name, check) for check in vendors.check_accounts({name: provider})[name]]
    user, ip = operator(request), client_ip(request.META)
    events.record("account.tested", name, company=None, user=user, ip=ip)
    return _page(request, name, results)


def _page(
    request: HttpRequest,
    name: str,
    results: list[Result] | None = None,
    form: CredentialsForm | None = None,
) -> HttpResponse:
    if not _is_known(name):
        raise Http404
    setup = registry.guide(name)
    if form is None and credential_pages.can_be_entered(name):
        form = credential_pages.form_for(name)
    context = {
        **admin.site.each_context(request),
        "title": error_texts.provider_title(name),
        "name": name,
        "console": setup.console,
        "steps": list(_step_views(name, setup.steps)),
        "is_configured": name in registry.live_providers(),
        "results": results,
        "missing": sum(result.ok is False for result in results or []),
        "can_test": request.user.has_perm(CHANGE),
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
    return TemplateResponse(request, "operator_admin/vendor.html", context)


@page("providers/<str:name>/approvals/", "vendor-approvals")
@require_POST
def look_at_approvals(request: HttpRequest, name: str) -> HttpResponse:
    """Asks the vendor what it has approved, and keeps the answer."""
    if not request.user.has_perm(CHANGE):
        raise PermissionDenied
    availability.refresh()
    look = approvals.look([name]).get(name)
    if look is None:
        raise Http404
    if look.error:
        messages.error(request, _("The vendor did not answer: %(error)s") % {"error": look.error})
    elif look.found is None:
        messages.info(request, _("This account has no list of templates or senders to read."))
    else:
        messages.success(request, _("The vendor's list is read."))
    return HttpResponseRedirect(reverse("admin:vendor", args=[name]))


def _has_approvals(name: str) -> bool:
    """Whether its vendor has a list to ask for."""
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


def _step_views(name: str, steps: tuple[Step, ...]) -> Iterator[StepView]:
    for n, step in enumerate(steps, start=1):
        copies = [(f"copy-{n}-{m}", one) for m, one in enumerate(step.copies, start=1)]
        variables = list(dict.fromkeys(_variable(name, one) for one in step.options))
        yield StepView(step.where, step.what, variables, copies)


def _variable(name: str, option: str) -> Variable:
    vendor, account = VENDORS[vendor_of(name)], name.partition(":")[2]
    options = settings.PROVIDER_ACCOUNTS.get(name, {})
    return Variable(vendor.variable(option, account), bool(options.get(option)))


def _result(name: str, check: Check) -> Result:
    cure = "" if check.ok else vendor_texts.cure(name, check)
    return Result(vendor_texts.title(check), check.ok, check.detail, cure)


def _bind_result(name: str) -> Result:
    bind = dict(zip(registry.hosted_providers(), processes.binds(), strict=True))[name]
    return Result(vendor_texts.TITLES["bind"], bind.ok, bind.detail, bind.cure)
