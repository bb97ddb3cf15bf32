"""The cabinet's pages about the company: keys, language, switching."""

import re

from allauth.core import ratelimit
from django.conf import settings as conf
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import check_for_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST
from django.views.i18n import set_language

from accounts import key_issuing
from accounts.form_pages import LastUse, PageLink, confirm_page, form_page, refusals_on
from accounts.models import ApiKey, Company, Mode, User
from accounts.people import companies, countries
from accounts.people.cabinet_access import (
    CabinetRequest,
    all_memberships,
    can_manage_keys,
    can_read_technical_pages,
    choose_company,
    current_member,
    lacks_second_factor,
    member_required,
    memberships,
    redirect_without_company,
)
from accounts.security import reauthentication
from accounts.sign_in.addresses import is_same
from cabinet.forms import ClientKeyForm, CompanyForm, KeyForm, invitation_of
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
    invitation = invitation_of(request)
    user = request.user
    if invitation and isinstance(user, User) and is_same(user.email, invitation.email):
        return redirect("invitation-join", request.session["invitation"])
    if all_memberships(request):
        return redirect_without_company(request)
    form = CompanyForm(request.POST or None, guess=countries.guess(request))
    if request.method == "POST" and form.is_valid() and isinstance(request.user, User):
        # Limited: a person who leaves a company may create another.
        if limited := ratelimit.consume_or_429(request, action="signup"):
            return limited
        _sign_up_once(request.user, form, ip=client_ip(request.META))
        return redirect("overview")
    lead = _(
        "You are not a member of any company yet. Create one, or ask a colleague to invite you "
        "into theirs."
    )
    return form_page(
        request,
        form,
        _("New company"),
        verb=_("Create the company"),
        heading=_("Your company"),
        lead=lead,
    )


@transaction.atomic
def _sign_up_once(user: User, form: CompanyForm, *, ip: str) -> None:
    """Creates the user's first company; a second click creates none."""
    locked = User.objects.select_for_update(no_key=True).get(pk=user.pk)
    if not locked.memberships.exists():
        companies.sign_up_company(
            user=user,
            name=form.cleaned_data["company"],
            country=form.cleaned_data["country"],
            ip=ip,
        )


@login_required
@require_POST
def company_switch(request: HttpRequest) -> HttpResponse:
    company_id = request.POST.get("company", "")
    if company_id not in {str(member.company_id) for member in memberships(request)}:
        raise Http404
    choose_company(request, int(company_id))
    return redirect("overview")


@login_required
def second_factor_required(request: HttpRequest) -> HttpResponse:
    """The page that asks members to set up the second factor that their company requires."""
    member = current_member(request)
    if member is None:
        return redirect_without_company(request)
    if not lacks_second_factor(request, member):
        return redirect("overview")
    return render(request, "cabinet/second_factor_required.html", {"company": member.company})


@member_required(can_read_technical_pages)
def key_list(request: CabinetRequest) -> HttpResponse:
    keys = request.company.api_keys.with_creator_role().select_related("created_by")
    active = [key for key in keys if key.is_active]
    return render(
        request,
        "cabinet/key_list.html",
        {
            "active": active,
            "ended": [key for key in keys if not key.is_active],
            "limit": key_issuing.MAX_ACTIVE_KEYS,
            "is_full": len(active) >= key_issuing.MAX_ACTIVE_KEYS,
        },
    )


@member_required(can_manage_keys, can_manage_keys)
def key_create(request: CabinetRequest) -> HttpResponse:
    return _create_key(request, KeyForm, _("New key"))


@member_required(can_manage_keys, can_manage_keys)
def client_key_create(request: CabinetRequest) -> HttpResponse:
    """Creates a key for another service's client."""
    lead = _(
        "For a program that uses another service's client, such as Twilio's, and keeps its code. "
        "The key sends and checks codes of one purpose; it reads no history and tops up nothing."
    )
    title = _("Key for another service's client")
    return _create_key(request, ClientKeyForm, title, lead)


def _create_key(
    request: CabinetRequest, kind: type[KeyForm], title: str, lead: str = ""
) -> HttpResponse:
    form = kind(
        request.POST or None, role=request.member.role, initial=reauthentication.draft(request)
    )
    if request.method == "POST" and form.is_valid():
        if form.cleaned_data["mode"] == Mode.LIVE:
            reauthentication.require(request, form)
        with refusals_on(form):
            key, plaintext = key_issuing.create_api_key(
                company=request.company,
                mode=form.cleaned_data["mode"],
                name=form.cleaned_data["name"],
                scopes=form.cleaned_data.get("scopes"),
                purpose=form.cleaned_data.get("purpose", ""),
                public_key=form.cleaned_data.get("public_key", ""),
                allowed_ips=form.cleaned_data["allowed_ips"],
                expires_at=form.cleaned_data["expires_on"],
                **request.actor,
            )
            return _show_once(request, key, plaintext)
    note = _("You can create a live key now. It starts working once the company is approved.")
    return form_page(
        request,
        form,
        title,
        verb=_("Create the key"),
        back=_key_list(),
        lead=lead,
        note=note if request.company.status == Company.Status.PENDING else "",
    )


@member_required(can_manage_keys, can_manage_keys)
def key_rotate(request: CabinetRequest, pk: int) -> HttpResponse:
    key = get_object_or_404(request.company.api_keys.active(), pk=pk)
    if key.mode == Mode.LIVE:
        reauthentication.require(request)
    if request.method == "POST":
        try:
            successor, plaintext = key_issuing.rotate_api_key(key=key, **request.actor)
        except ValidationError as error:
            messages.error(request, " ".join(error.messages))
            return redirect("key-list")
        return _show_once(request, successor, plaintext, old=key)
    texts = [
        _(
            "This creates a new key with the same permissions. The old one keeps working for 24 "
            "hours, so you can switch your backend without downtime."
        )
    ]
    if lost := key.lost_scopes(request.member.role):
        text = _(
            "Your role cannot see money, so the new key will lack: %(lost_scopes)s. If your "
            "backend needs that, have an owner replace the key."
        )
        texts.append(text % {"lost_scopes": lost})
    return confirm_page(
        request,
        _("Replace the key"),
        *texts,
        verb=_("Create the new key"),
        back=_key_list(),
        subject=_key_html(key),
        is_dangerous=False,
    )


@member_required(can_manage_keys, can_manage_keys)
def key_revoke(request: CabinetRequest, pk: int) -> HttpResponse:
    key = get_object_or_404(request.company.api_keys.active(), pk=pk)
    if request.method == "POST":
        key_issuing.revoke_api_key(key=key, **request.actor)
        messages.success(request, _("Key %(key)s is revoked.") % {"key": key})
        return redirect("key-list")
    return confirm_page(
        request,
        _("Revoke the key"),
        _("Requests with this key will be refused within two seconds. This cannot be undone."),
        verb=_("Revoke"),
        back=_key_list(),
        subject=_key_html(key),
        last_use=LastUse(_("Last used"), key.last_used_at),
    )


def _key_list() -> PageLink:
    return PageLink(reverse("key-list"), _("API keys"))


def _key_html(key: ApiKey) -> SafeString:
    return format_html("<strong>{}</strong> <code>{}</code>", key.name, key)


def _show_once(
    request: CabinetRequest, key: ApiKey, plaintext: str, old: ApiKey | None = None
) -> HttpResponse:
    # No redirect: the key would have to be stored somewhere until the next request.
    context = {"key": key, "plaintext": plaintext, "old": old}
    return render(request, "cabinet/key_created.html", context)
