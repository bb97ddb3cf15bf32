"""The admin's page of provider accounts: their state, switches, order and breakers."""

from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from accounts import audit
from channels.models import ProviderAccount
from channels.vendor_accounts import circuit_breaker, pauses
from operator_admin import figures
from operator_admin.model_pages.bases import ModelAdmin, actor
from operator_admin.site import page, page_response
from parsing.characters import one_line

CHANGE_PERMISSION = "channels.change_provideraccount"
REASON_LENGTH = 150  # stored in the audit log after the account's name


@admin.register(ProviderAccount)
class ProviderAccountAdmin(ModelAdmin):
    list_display = ("name", "is_enabled", "position", "weight", "prefixes", "max_per_second")
    ordering = ("-position",)
    fields = (
        "name",
        "is_enabled",
        "position",
        "weight",
        "is_share_fixed",
        "prefixes",
        "max_per_second",
    )
    readonly_fields = ("name",)

    # The environment or the set-up pages add and delete accounts.
    may_add = False
    may_delete = False

    def save_model(
        self, request: HttpRequest, obj: ProviderAccount, form: Any, change: Any
    ) -> None:
        # Saves changed fields only: a worker may be writing the others.
        obj.save(update_fields=form.changed_data)
        if form.changed_data:
            _record(request, "account.changed", f"{obj.name}: {', '.join(form.changed_data)}")


@page("providers/", "providers", "channels.provideraccount")
def providers(request: HttpRequest) -> HttpResponse:
    pauses.ensure_rows()
    context = {
        "accounts": figures.accounts(),
        "can_try": request.user.has_perm("billing.add_transfer"),
        "can_change": request.user.has_perm(CHANGE_PERMISSION),
    }
    return page_response(request, "providers", gettext_lazy("Providers"), context)


@page("providers/<str:name>/close/", "breaker-close", permission=CHANGE_PERMISSION)
@require_POST
def close_breaker(request: HttpRequest, name: str) -> HttpResponse:
    account = get_object_or_404(ProviderAccount, name=name)
    if circuit_breaker.close(account.name):
        _record(request, "breaker.closed", account.name)
    messages.success(request, _("The breaker is closed: the account is sent messages again."))
    return redirect("admin:providers")


@page("providers/<str:name>/switch/", "account-switch", permission=CHANGE_PERMISSION)
@require_POST
def switch(request: HttpRequest, name: str) -> HttpResponse:
    account = get_object_or_404(ProviderAccount, name=name)
    if request.POST.get("is_enabled") == "1":
        pauses.resume_account(name=account.name, **actor(request))
    elif reason := one_line(request.POST.get("reason", ""))[:REASON_LENGTH]:
        pauses.pause_account(name=account.name, reason=reason, **actor(request))
    else:
        messages.error(request, _("Say why it is paused: the other operators will see it."))
    return redirect("admin:providers")


def _record(request: HttpRequest, action: str, subject: str) -> None:
    audit.record(action, subject, company=None, **actor(request))
