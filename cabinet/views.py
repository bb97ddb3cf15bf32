"""The cabinet's pages about the company: keys, language, switching."""

import re

from django.conf import settings as conf
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import check_for_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST
from django.views.i18n import set_language

from accounts.models import ApiKey, Mode, User
from accounts.people import companies, countries
from accounts.people.roles import (
    CabinetRequest,
    all_memberships,
    can_manage_keys,
    can_read_keys,
    current_member,
    lacks_second_factor,
    member_required,
    memberships,
    redirect_without_company,
)
from accounts.security import reauthentication
from cabinet.forms import CompanyForm, KeyForm, invitation_of
from processes.server.client_ip import client_ip


@require_POST
def language(request: HttpRequest) -> HttpResponse:
    """Django's language switch, stored for the signed-in user as well."""
    code = request.POST.get("language", "")
    if isinstance(request.user, User) and code in dict(conf.LANGUAGES) and check_for_language(code):
        User.objects.filter(pk=request.user.pk).update(language=code)
    response = set_language(request)
    if response.has_header("Location"):  # a `lang` in the URL would undo the choice
        response["Location"] = re.sub(r"(?<=[?&])lang=(ru|en)(&|$)", "", response["Location"])
    return response


@login_required
def company_create(request: HttpRequest) -> HttpResponse:
    if memberships(request):
        return redirect("overview")
    if invitation_of(request):
        return redirect("invitation-join", request.session["invitation"])
    if all_memberships(request):
        return redirect_without_company(request)
    form = CompanyForm(request.POST or None, guess=countries.guess(request))
    if request.method == "POST" and form.is_valid() and isinstance(request.user, User):
        companies.sign_up_company(
            user=request.user,
            name=form.cleaned_data["company"],
            country=form.cleaned_data["country"],
            ip=client_ip(request.META),
        )
        return redirect("overview")
    return render(request, "cabinet/company_create.html", {"form": form})


@login_required
@require_POST
def company_switch(request: HttpRequest) -> HttpResponse:
    chosen = request.POST.get("company", "")
    if chosen not in {str(member.company_id) for member in memberships(request)}:
        raise Http404
    request.session["company"] = int(chosen)
    return redirect("overview")


@login_required
def second_factor_required(request: HttpRequest) -> HttpResponse:
    """Where members of a company that asks for a second factor set one up, or choose another."""
    member = current_member(request)
    if member is None:
        return redirect_without_company(request)
    if not lacks_second_factor(request, member):
        return redirect("overview")
    return render(request, "cabinet/second_factor_required.html", {"company": member.company})


@member_required(can_read_keys)
def key_list(request: CabinetRequest) -> HttpResponse:
    keys = request.company.api_keys.with_maker_role().select_related("created_by")
    active = [key for key in keys if key.is_active]
    return render(
        request,
        "cabinet/key_list.html",
        {
            "active": active,
            "ended": [key for key in keys if not key.is_active],
            "limit": companies.MAX_ACTIVE_KEYS,
            "is_full": len(active) >= companies.MAX_ACTIVE_KEYS,
        },
    )


@member_required(can_manage_keys, can_manage_keys)
def key_create(request: CabinetRequest) -> HttpResponse:
    form = KeyForm(
        request.POST or None, role=request.member.role, initial=reauthentication.draft(request)
    )
    if request.method == "POST" and form.is_valid():
        if form.cleaned_data["mode"] == Mode.LIVE:
            reauthentication.require(request, form)
        try:
            key, plaintext = companies.create_api_key(
                company=request.company,
                user=request.user,
                mode=form.cleaned_data["mode"],
                name=form.cleaned_data["name"],
                scopes=form.cleaned_data["scopes"],
                allowed_ips=form.cleaned_data["allowed_ips"],
                expires_at=form.cleaned_data["expires_on"],
                ip=client_ip(request.META),
            )
        except ValidationError as error:
            form.add_error(None, error)
        else:
            return _show_once(request, key, plaintext)
    return render(request, "cabinet/key_create.html", {"form": form})


@member_required(can_manage_keys, can_manage_keys)
def key_rotate(request: CabinetRequest, pk: int) -> HttpResponse:
    key = get_object_or_404(request.company.api_keys.active(), pk=pk)
    if key.mode == Mode.LIVE:
        reauthentication.require(request)
    if request.method == "POST":
        try:
            successor, plaintext = companies.rotate_api_key(
                key=key, user=request.user, ip=client_ip(request.META)
            )
        except ValidationError as error:
            messages.error(request, " ".join(error.messages))
            return redirect("key-list")
        return _show_once(request, successor, plaintext, old=key)
    context = {"key": key, "lost_scopes": key.lost_scopes(request.member.role)}
    return render(request, "cabinet/key_rotate.html", context)


@member_required(can_manage_keys, can_manage_keys)
def key_revoke(request: CabinetRequest, pk: int) -> HttpResponse:
    key = get_object_or_404(request.company.api_keys.active(), pk=pk)
    if request.method == "POST":
        companies.revoke_api_key(key=key, user=request.user, ip=client_ip(request.META))
        messages.success(request, _("Key %(key)s is revoked.") % {"key": key})
        return redirect("key-list")
    return render(request, "cabinet/key_revoke.html", {"key": key})


def _show_once(
    request: CabinetRequest, key: ApiKey, plaintext: str, old: ApiKey | None = None
) -> HttpResponse:
    # No redirect: the key would have to be stored somewhere until the next request.
    context = {"key": key, "plaintext": plaintext, "old": old, "base_url": conf.PUBLIC_URL}
    return render(request, "cabinet/key_created.html", context)
