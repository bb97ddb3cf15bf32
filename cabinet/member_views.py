"""The cabinet's pages about members, their sessions and invitations."""

from allauth.core import ratelimit
from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_POST

from accounts.form_pages import PageLink, confirm_page, form_page, refusals_on, refusals_shown
from accounts.models import Member, User, UserSession
from accounts.people import members
from accounts.people.cabinet_access import (
    CabinetRequest,
    anyone,
    can_manage_members,
    can_read_settings,
    choose_company,
    member_required,
    nobody,
)
from accounts.security import reauthentication
from accounts.sign_in.addresses import as_stored, is_same
from parsing.integers import parse_integer
from processes.server.client_ip import client_ip

ALL = "all"
# Any other role could reauthenticate for a live key or a change of billing details, so granting it
# needs reauthentication: an owner's stolen session must not let the thief in.
HARMLESS = Member.Role.VIEWER


class InvitationForm(forms.Form):
    email = forms.EmailField(
        label=gettext_lazy("E-mail"),
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )
    role = forms.ChoiceField(
        label=gettext_lazy("Role"), choices=Member.Role.choices, initial=Member.Role.DEVELOPER
    )

    def clean_email(self) -> str:
        return as_stored(self.cleaned_data["email"])


class RoleForm(forms.Form):
    role = forms.ChoiceField(label=gettext_lazy("Role"), choices=Member.Role.choices)


@member_required(can_read_settings)
def member_list(request: CabinetRequest) -> HttpResponse:
    rows = list(request.company.members.select_related("user").order_by("created_at", "pk"))
    context = {
        "members": rows,
        "is_only_owner": members.is_only_owner(request.member),
        "invitations": request.company.invitations.open().order_by("-sent_at"),
        "form": InvitationForm(),
    }
    return render(request, "cabinet/member_list.html", context)


@member_required(can_manage_members, can_manage_members)
def member_invite(request: CabinetRequest) -> HttpResponse:
    form = InvitationForm(request.POST or None, initial=reauthentication.draft(request))
    if request.method == "POST" and form.is_valid():
        if form.cleaned_data["role"] != HARMLESS:
            reauthentication.require(request, form)
        with refusals_on(form, "email"):
            members.invite(company=request.company, **form.cleaned_data, **request.actor)
            text = _("An e-mail is on its way to %(to)s.")
            messages.success(request, text % {"to": form.cleaned_data["email"]})
            return redirect("member-list")
    return form_page(
        request,
        form,
        _("Invite a member"),
        verb=_("Send the invitation"),
        back=_members(request.member),
        lead=_(
            "They get an e-mail with a link that is valid for 7 days. Inviting someone again sends "
            "a new link and cancels the old one."
        ),
    )


@require_POST
@member_required(nobody, can_manage_members)
def invitation_revoke(request: CabinetRequest, pk: int) -> HttpResponse:
    invitation = get_object_or_404(request.company.invitations, pk=pk)
    members.revoke_invitation(invitation=invitation, **request.actor)
    text = _("The invitation for %(of)s is cancelled.")
    messages.success(request, text % {"of": invitation.email})
    return redirect("member-list")


@member_required(can_manage_members, can_manage_members)
def member_role(request: CabinetRequest, pk: int) -> HttpResponse:
    member = get_object_or_404(request.company.members.select_related("user"), pk=pk)
    now = {"role": member.role} | reauthentication.draft(request)
    form = RoleForm(request.POST or None, initial=now)
    if request.method == "POST" and form.is_valid():
        if member.role == Member.Role.OWNER or form.cleaned_data["role"] != HARMLESS:
            reauthentication.require(request, form)
        with refusals_on(form, "role"):
            members.change_role(member=member, role=form.cleaned_data["role"], **request.actor)
            messages.success(request, _("The role has been changed."))
            return redirect("member-list")
    return form_page(
        request,
        form,
        _("Role"),
        verb=_("Change the role"),
        back=_members(request.member),
        heading=member.user.email,
    )


@member_required(anyone, anyone)
def member_remove(request: CabinetRequest, pk: int) -> HttpResponse:
    """Owners remove any member; every member may leave."""
    member = get_object_or_404(request.company.members.select_related("user", "company"), pk=pk)
    if not (request.member.can_manage_members or member.pk == request.member.pk):
        raise PermissionDenied
    if member.role == Member.Role.OWNER:
        reauthentication.require(request)
    is_leaving = member.pk == request.member.pk
    if request.method == "POST":
        page = "member-list"
        with refusals_shown(request):
            members.remove(member=member, **request.actor)
            text = _("%(who)s is no longer a member.")
            messages.success(request, text % {"who": member.user.email})
            page = "overview" if is_leaving else page
        return redirect(page)
    return confirm_page(
        request,
        _("Leave the company") if is_leaving else _("Remove a member"),
        _consequence(member, is_leaving=is_leaving),
        verb="" if members.is_only_owner(member) else _("Leave") if is_leaving else _("Remove"),
        back=_members(request.member),
        subject=format_html(
            "<strong>{}</strong> · {}", member.user.email, member.get_role_display()
        ),
    )


def _consequence(member: Member, *, is_leaving: bool) -> str:
    if members.is_only_owner(member):
        return _("The only owner: to leave, make somebody else an owner first.")
    if is_leaving:
        text = _("You will lose access to %(name)s until an owner invites you again.")
        return text % {"name": member.company.name}
    return _(
        "They lose access to the company's pages at once. Keys they have created keep working: "
        "revoke those they may know."
    )


def _members(member: Member) -> PageLink:
    """The list of members, or the overview for members who may not see it."""
    if can_read_settings(member):
        return PageLink(reverse("member-list"), _("Members"))
    return PageLink(reverse("overview"), _("Overview"))


def invitation_join(request: HttpRequest, token: str) -> HttpResponse:
    """The target of the invitation link, for visitors and signed-in users."""
    invitation = members.invitation_of(token)
    if invitation is None:
        page = {
            "title": _("Invitation"),
            "heading": _("This invitation is no longer valid"),
            "text": _(
                "It was used, cancelled or replaced by a newer one, or its 7 days are over. Ask an "
                "owner of the company to invite you again."
            ),
            "action": PageLink(reverse("overview"), _("Go to the cabinet")),
        }
        return render(request, "notice.html", page, status=410)
    user = request.user
    is_theirs = isinstance(user, User) and is_same(user.email, invitation.email)
    if request.method == "POST" and isinstance(user, User) and is_theirs:
        members.join(invitation=invitation, user=user, ip=client_ip(request.META))
        choose_company(request, invitation.company_id)
        request.session.pop("invitation", None)
        return redirect("overview")
    # Limited: each visitor without a cookie gets a session, kept for hours.
    if limited := ratelimit.consume_or_429(request, action="invitation", limit_get=True):
        return limited
    request.session["invitation"] = token  # so that a sign-up asks for no company
    context = {"invitation": invitation, "is_theirs": is_theirs, "here": request.path}
    return render(request, "cabinet/invitation_join.html", context)


@member_required(can_manage_members, can_manage_members)
def member_sessions_page(request: CabinetRequest, pk: int) -> HttpResponse:
    member = get_object_or_404(request.company.members.select_related("user", "company"), pk=pk)
    if member.pk == request.member.pk:
        return redirect("session-list")
    if request.method == "POST":
        reauthentication.require(request)
        _end(request, member, request.POST.get("session", ""))
        return redirect("member-sessions", pk)
    alive = UserSession.objects.alive().filter(user=member.user_id).order_by("-last_seen_at", "pk")
    rows = [(row, members.mask_address(row.ip), "", False) for row in alive]
    return render(
        request, "cabinet/member_sessions.html", {"shown_member": member, "sessions": rows}
    )


def _end(request: CabinetRequest, member: Member, session: str) -> None:
    if session == ALL:
        count = members.end_all_sessions(member=member, **request.actor)
        text = ngettext("%(n)d session has been ended.", "%(n)d sessions have been ended.", count)
        messages.success(request, text % {"n": count})
        return
    session_id = parse_integer(session) or 0
    if members.end_session(member=member, session_id=session_id, **request.actor):
        messages.success(request, _("The session has been ended."))
    else:
        messages.info(request, _("This session has already ended."))
