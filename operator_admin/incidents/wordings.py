"""The usual titles and updates of incidents, in both languages, for the operator to change."""

from dataclasses import dataclass

from django.utils import translation
from django.utils.translation import gettext_lazy as _

from config.channels import BY_NAME
from config.texts import StrOrPromise
from operator_admin.models import Incident

Impact, State = Incident.Impact, Incident.State

SERVICE = _("The service")
TITLES: dict[str, StrOrPromise] = {
    Impact.DEGRADED: _("%(part)s: messages arrive late or not at all"),
    Impact.OUTAGE: _("%(part)s: messages are not delivered"),
    Impact.MAINTENANCE: _("%(part)s: maintenance"),
}
FIRST_TEXTS: dict[str, StrOrPromise] = {
    Impact.DEGRADED: _(
        "Some messages arrive late or not at all. We are looking for the cause. Nothing is charged "
        "for what is not delivered."
    ),
    Impact.OUTAGE: _(
        "Messages are not delivered at the moment. We are looking for the cause. Companies that "
        "have a fallback chain send by their next channel. Nothing is charged for what is not "
        "delivered."
    ),
    Impact.MAINTENANCE: _(
        "Maintenance is planned. Messages may arrive late while it lasts; none is lost."
    ),
}
LATER_TEXTS: dict[str, StrOrPromise] = {
    State.INVESTIGATING: _("We are still looking for the cause."),
    State.IDENTIFIED: _("The cause is found. We are working on it."),
    State.MONITORING: _("It works again. We are watching it before we close the incident."),
    State.RESOLVED: _("It is over. Everything works as usual."),
}


@dataclass(frozen=True, slots=True)
class Wording:
    ru: str
    en: str


def title(impact: str, channel: str) -> Wording:
    part = BY_NAME[channel].title if channel in BY_NAME else SERVICE
    return _in_both(TITLES[impact], part)


def first_text(impact: str) -> Wording:
    return _in_both(FIRST_TEXTS[impact])


def later_text(state: str) -> Wording:
    return _in_both(LATER_TEXTS[state])


def _in_both(text: StrOrPromise, part: StrOrPromise = "") -> Wording:
    with translation.override("ru"):
        russian = str(text) % {"part": part}
    with translation.override("en"):
        return Wording(russian, str(text) % {"part": part})
