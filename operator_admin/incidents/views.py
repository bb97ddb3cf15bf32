"""The admin's pages of incidents, and the button by which a member dismisses a notice."""

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from accounts.people.cabinet_access import CabinetRequest, anyone, member_required
from catalogue.channels import BY_NAME, Channel
from channels.vendor_accounts import availability, pauses
from operator_admin.incidents import impact, notices, timeline
from operator_admin.incidents.forms import IncidentForm, UpdateForm, initial_values
from operator_admin.model_pages.bases import actor
from operator_admin.models import Incident
from operator_admin.site import page, page_context, page_response
from parsing.characters import one_line
from parsing.integers import parse_page

PAUSE_PERMISSION = "channels.change_provideraccount"
CHANGE_PERMISSION = "operator_admin.change_incident"
PAGE_SIZE = 20
REASON_LENGTH = 150


@page("incidents/", "incidents", "operator_admin.incident", "channels.provideraccount")
def incidents(request: HttpRequest) -> HttpResponse:
    pauses.ensure_rows()
    number = parse_page(request.GET.get("page", ""))
    resolved = Incident.objects.resolved().order_by("-began_at", "-pk")
    rows = list(resolved[number * PAGE_SIZE : (number + 1) * PAGE_SIZE + 1])
    context: dict[str, object] = {
        "channels": impact.channel_states(),
        "open": list(Incident.objects.open().order_by("-began_at", "-pk")),
        **page_context("resolved", rows, number, PAGE_SIZE),
        "is_first": not number,
    }
    return _page(request, "incidents", gettext_lazy("Incidents"), context)


@page(
    "incidents/channels/<str:name>/",
    "channel",
    "operator_admin.incident",
    "channels.provideraccount",
)
def channel(request: HttpRequest, name: str) -> HttpResponse:
    """The companies that the channel's failure affects, and its switch."""
    pauses.ensure_rows()
    state = {row.channel.name: row for row in impact.channel_states()}.get(name)
    if state is None:
        raise Http404
    number = parse_page(request.GET.get("page", ""))
    companies = impact.affected_companies(name, number)
    context = {
        "state": state,
        **page_context("companies", companies, number, impact.PAGE_SIZE),
        "incidents": [row for row in Incident.objects.open() if row.channel in {"", name}],
    }
    return _page(request, "channel", state.channel.title, context)


@page("incidents/channels/<str:name>/pause/", "channel-pause", permission=PAUSE_PERMISSION)
@require_POST
def pause(request: HttpRequest, name: str) -> HttpResponse:
    channel = _channel(name)
    reason = one_line(request.POST.get("reason", ""))[:REASON_LENGTH]
    if not reason:
        messages.error(request, _("Say why it is paused: the other operators will see it."))
    elif pauses.pause_channel(channel=channel, reason=reason, **actor(request)):
        availability.refresh()
        messages.success(request, _("Paused. Within two seconds nothing more is sent through it."))
    else:
        messages.info(request, _("Nothing to pause: none of its accounts is in use."))
    return redirect("admin:channel", name)


@page("incidents/channels/<str:name>/resume/", "channel-resume", permission=PAUSE_PERMISSION)
@require_POST
def resume(request: HttpRequest, name: str) -> HttpResponse:
    channel = _channel(name)
    if pauses.resume_channel(channel=channel, **actor(request)):
        availability.refresh()
        messages.success(request, _("Resumed. Messages are sent through it again."))
    else:
        messages.info(request, _("Nothing to resume: its accounts were not paused with it."))
    return redirect("admin:channel", name)


@page("incidents/new/", "incident-new", permission=CHANGE_PERMISSION)
def new(request: HttpRequest) -> HttpResponse:
    """A new incident with the standard text for the URL's channel and impact."""
    impact = request.GET.get("impact", "")
    channel = request.GET.get("channel", "")
    kind = impact if impact in Incident.Impact.values else Incident.Impact.DEGRADED
    channel = channel if channel in BY_NAME else ""
    form = IncidentForm(request.POST or None, initial=initial_values(kind, channel))
    if form.is_valid():
        opened = timeline.open_incident(**form.incident(), **actor(request))
        messages.success(request, _("Companies see the notice within seconds."))
        return redirect("admin:incident", opened.pk)
    context = {"form": form, "impacts": Incident.Impact.choices, "impact": kind, "channel": channel}
    return _page(request, "incident_new", gettext_lazy("Tell companies"), context)


@page("incidents/<int:pk>/", "incident", "operator_admin.incident", "channels.provideraccount")
def incident(request: HttpRequest, pk: int) -> HttpResponse:
    """Shows an incident; a POST adds an update."""
    incident = get_object_or_404(Incident, pk=pk)
    form = UpdateForm(request.POST or None, initial={"state": incident.state})
    if request.method == "POST":
        if not request.user.has_perm(CHANGE_PERMISSION):
            raise PermissionDenied
        if form.is_valid():
            state = form.cleaned_data["state"]
            text = form.text()
            _report(
                request,
                timeline.add_update(incident_id=pk, state=state, text=text, **actor(request)),
            )
            return redirect("admin:incident", pk)
    context = {
        "incident": incident,
        "updates": incident.updates.select_related("author").order_by("-created_at", "-pk"),
        "form": form,
    }
    return _page(request, "incident", incident.title, context)


@page("incidents/<int:pk>/resolve/", "incident-resolve", permission=CHANGE_PERMISSION)
@require_POST
def resolve(request: HttpRequest, pk: int) -> HttpResponse:
    """Resolves the incident with the standard text."""
    get_object_or_404(Incident, pk=pk)
    state = Incident.State.RESOLVED
    ended = timeline.add_update(incident_id=pk, state=state, text=None, **actor(request))
    _report(request, ended)
    return redirect("admin:incident", pk)


def _report(request: HttpRequest, changed: Incident | None) -> None:
    if changed is None:
        messages.info(request, _("It is resolved already: nothing was added."))
    elif changed.resolved_at:
        messages.success(request, _("Resolved: the notice is gone within seconds."))
    else:
        messages.success(request, _("Added: companies see it within seconds."))


def _channel(name: str) -> Channel:
    if name not in BY_NAME:
        raise Http404
    return BY_NAME[name]


def _page(
    request: HttpRequest, template: str, title: object, context: dict[str, object]
) -> HttpResponse:
    shared = {
        "language": str(getattr(request, "LANGUAGE_CODE", settings.LANGUAGE_CODE)),
        "can_change": request.user.has_perm(CHANGE_PERMISSION),
        "can_pause": request.user.has_perm(PAUSE_PERMISSION),
    }
    return page_response(request, template, title, shared | context)


@require_POST
@member_required(anyone, anyone)
def dismiss(request: CabinetRequest, incident: int, update: int) -> HttpResponse:
    notices.dismiss(request.session, f"{incident}:{update}")
    if request.htmx:
        return HttpResponse()
    next_url = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(
        next_url, {request.get_host()}, require_https=request.is_secure()
    )
    return redirect(next_url if is_ours else "overview")
