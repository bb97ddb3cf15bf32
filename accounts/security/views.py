"""The page that lists and ends the user's sessions."""

from allauth.core.ratelimit import respond_429
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from accounts import audit
from accounts.audit import record_authentication_event
from accounts.models import AuditEvent, User, UserSession
from accounts.security import sessions
from accounts.security.change_limit import exceeds_change_limit

RECENT_EVENTS = 20  # events


def signed_in_user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)  # noqa: S101 - behind login_required
    return request.user


@login_required
def session_list(request: HttpRequest) -> HttpResponse:
    user = signed_in_user(request)
    key = request.session.session_key
    sessions.record_activity(request, user)
    alive = UserSession.objects.alive().filter(user=user).order_by("-last_seen_at")
    rows = [
        (row, row.ip, reverse("session-end", args=[row.pk]), row.session_key == key)
        for row in alive
    ]
    events = AuditEvent.objects.filter(user=user, company=None).order_by("-id")[:RECENT_EVENTS]
    context = {
        "sessions": sorted(rows, key=lambda row: not row[-1]),  # this one first
        "has_others": any(not row[-1] for row in rows),
        "events": [(event, audit.label(event.action)) for event in events],
    }
    return render(request, "account/session_list.html", context)


@require_POST
@login_required
def session_end(request: HttpRequest, pk: int) -> HttpResponse:
    user = signed_in_user(request)
    session = get_object_or_404(UserSession, pk=pk, user=user)
    if session.session_key == request.session.session_key:
        messages.info(request, _("This is the session you are in: use “Sign out”."))
        return redirect("session-list")
    sessions.end(session)
    record_authentication_event(
        "session.ended", user=user, request=request, subject=session.ip or ""
    )
    messages.success(request, _("The session has been ended."))
    return redirect("session-list")


@require_POST
@login_required
def session_end_others(request: HttpRequest) -> HttpResponse:
    user = signed_in_user(request)
    if exceeds_change_limit(user):
        return respond_429(request)
    count = sessions.end_others(request, user)
    record_authentication_event("sessions.ended", user=user, request=request, subject=count)
    text = ngettext("%(n)d other session is ended.", "%(n)d other sessions are ended.", count)
    messages.success(request, text % {"n": count})
    return redirect("session-list")
