"""The cabinet's page of a member's sessions, which an owner may end."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.client_ip import client_ip
from accounts.models import Member, UserSession
from accounts.people import member_sessions
from accounts.people.roles import CabinetRequest, can_manage_members, member_required
from accounts.security import reauthentication
from config.input.integers import parse_integer

ALL = "all"


@member_required(can_manage_members, can_manage_members)
def member_sessions_page(request: CabinetRequest, pk: int) -> HttpResponse:
    person = get_object_or_404(request.company.members.select_related("user", "company"), pk=pk)
    if person.pk == request.member.pk:
        return redirect("session-list")
    if request.method == "POST":
        reauthentication.require(request)
        _end(request, person, request.POST.get("session", ""))
        return redirect("member-sessions", pk)
    found = UserSession.objects.alive().filter(user=person.user_id).order_by("-last_seen_at", "pk")
    rows = [(one, member_sessions.mask_address(one.ip), "", False) for one in found]
    return render(request, "cabinet/member_sessions.html", {"person": person, "sessions": rows})


def _end(request: CabinetRequest, person: Member, chosen: str) -> None:
    ip = client_ip(request.META)
    if chosen == ALL:
        count = member_sessions.end_all(member=person, user=request.user, ip=ip)
        text = ngettext("%(n)d session is ended.", "%(n)d sessions are ended.", count)
        messages.success(request, text % {"n": count})
        return
    session_id = parse_integer(chosen) or 0
    if member_sessions.end(member=person, session_id=session_id, user=request.user, ip=ip):
        messages.success(request, _("The session is ended."))
    else:
        messages.info(request, _("This session is over already."))
