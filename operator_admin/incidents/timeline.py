"""Opens incidents and adds updates to their timelines; the standard texts that companies read."""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts import audit
from accounts.models import User
from catalogue.channels import BY_NAME
from catalogue.languages import page_languages
from catalogue.texts import StrOrPromise
from operator_admin.incidents import notices
from operator_admin.models import Incident, IncidentUpdate

Impact = Incident.Impact
State = Incident.State

SERVICE = _("The service")
TITLES: dict[str, StrOrPromise] = {
    Impact.DEGRADED: _("%(part)s: messages arrive late or not at all"),
    Impact.OUTAGE: _("%(part)s: messages are not delivered"),
    Impact.MAINTENANCE: _("%(part)s: maintenance"),
}
FIRST_TEXTS: dict[str, StrOrPromise] = {
    Impact.DEGRADED: _(
        "Some messages arrive late or not at all. We are looking for the cause. Nothing is charged "
        "for undelivered messages."
    ),
    Impact.OUTAGE: _(
        "Messages are not delivered at the moment. We are looking for the cause. Companies that "
        "have a fallback chain send by their next channel. Nothing is charged for "
        "undelivered messages."
    ),
    Impact.MAINTENANCE: _(
        "Maintenance is planned. Messages may arrive late while it lasts; none is lost."
    ),
}
LATER_TEXTS: dict[str, StrOrPromise] = {
    State.INVESTIGATING: _("We are still looking for the cause."),
    State.IDENTIFIED: _("The cause has been found. We are working on a fix."),
    State.MONITORING: _("It works again. We are monitoring it before we close the incident."),
    State.RESOLVED: _("Resolved. Everything works as usual."),
}


Wording = dict[str, str]  # by language


def title(impact: str, channel: str) -> Wording:
    part = BY_NAME[channel].title if channel in BY_NAME else SERVICE
    return page_languages.in_each(TITLES[impact], part=part)


def first_text(impact: str) -> Wording:
    return page_languages.in_each(FIRST_TEXTS[impact])


def later_text(state: str) -> Wording:
    return page_languages.in_each(LATER_TEXTS[state])


def open_incident(
    *,
    titles: Wording,
    text: Wording,
    impact: str,
    user: User,
    ip: str | None,
    shown_from: datetime | None = None,
    **fields: Any,
) -> Incident:
    """Opens an incident, shown from now on unless `shown_from` is given."""
    begins = shown_from or timezone.now()
    # Maintenance needs no investigation.
    state = State.IDENTIFIED if impact == Impact.MAINTENANCE else State.INVESTIGATING
    with transaction.atomic():
        incident = Incident.objects.create(
            titles=titles, impact=impact, state=state, began_at=begins, shown_from=begins, **fields
        )
        _add(incident, state, text, user)
        audit.record("incident.opened", incident, company=None, user=user, ip=ip)
    notices.refresh()
    return incident


def add_update(
    *, incident_id: int, state: str, text: Wording | None, user: User, ip: str | None
) -> Incident | None:
    """Adds an update, with the standard text unless given; returns None if it is resolved.

    The row's lock lets only one of two operators end it.
    """
    is_resolved = state == State.RESOLVED
    with transaction.atomic():
        open_incidents = Incident.objects.open().select_for_update(no_key=True)
        incident = open_incidents.filter(pk=incident_id).first()
        if incident is None:
            return None
        incident.state = state
        incident.resolved_at = timezone.now() if is_resolved else None
        incident.save(update_fields=["state", "resolved_at"])
        _add(incident, state, text or later_text(state), user)
        action = "incident.resolved" if is_resolved else "incident.updated"
        audit.record(action, incident, company=None, user=user, ip=ip)
    notices.refresh()
    return incident


def _add(incident: Incident, state: str, text: Wording, user: User) -> None:
    IncidentUpdate.objects.create(incident=incident, state=state, texts=text, author=user)
