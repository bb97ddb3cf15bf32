"""Opening an incident and adding to its timeline; the last update is what companies read."""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from accounts.audit import events
from accounts.models import User
from operator_admin.incidents import notices, wordings
from operator_admin.incidents.wordings import Wording
from operator_admin.models import Incident, IncidentUpdate


@dataclass(frozen=True, slots=True)
class NewIncident:
    title: Wording
    text: Wording
    impact: str
    channel: str = ""  # empty: the whole service
    country: str = ""  # empty: companies of every country
    is_public: bool = True
    shown_from: datetime | None = None  # None: now
    shown_until: datetime | None = None  # None: until it is over


def open_incident(new: NewIncident, *, user: User, ip: str | None) -> Incident:
    state = Incident.State.INVESTIGATING
    if new.impact == Incident.Impact.MAINTENANCE:
        state = Incident.State.IDENTIFIED  # nothing to look for
    with transaction.atomic():
        incident = Incident.objects.create(
            title_ru=new.title.ru,
            title_en=new.title.en,
            impact=new.impact,
            state=state,
            channel=new.channel,
            country=new.country,
            is_public=new.is_public,
            began_at=new.shown_from or timezone.now(),
            shown_from=new.shown_from or timezone.now(),
            shown_until=new.shown_until,
        )
        _add(incident, state, new.text, user)
        events.record("incident.opened", incident, company=None, user=user, ip=ip)
    notices.refresh()
    return incident


def add_update(
    *, incident_id: int, state: str, text: Wording | None, user: User, ip: str | None
) -> Incident | None:
    """Says what is new, in the usual words unless given; None once the incident is over.

    The row's lock lets one of two operators end it.
    """
    is_over = state == Incident.State.RESOLVED
    with transaction.atomic():
        open_ones = Incident.objects.open().select_for_update(no_key=True)
        incident = open_ones.filter(pk=incident_id).first()
        if incident is None:
            return None
        incident.state = state
        incident.resolved_at = timezone.now() if is_over else None
        incident.save(update_fields=["state", "resolved_at"])
        _add(incident, state, text or wordings.later_text(state), user)
        action = "incident.resolved" if is_over else "incident.updated"
        events.record(action, incident, company=None, user=user, ip=ip)
    notices.refresh()
    return incident


def _add(incident: Incident, state: str, text: Wording, user: User) -> None:
    IncidentUpdate.objects.create(
        incident=incident, state=state, text_ru=text.ru, text_en=text.en, author=user
    )
