"""How each part of the service is now: what the operator says, else what the service measures."""

from collections.abc import Iterable
from enum import StrEnum

from operator_admin.metrics.figures import AccountState
from operator_admin.models import Alert, Incident

# Alerts by which messages of every channel are late.
ALL_LATE = frozenset({"worker-silent", "queue-stands"})
CHANNEL_DROPS = "delivery-falls"
API_DOWN = "web-silent"


class Level(StrEnum):
    """From the best to the worst."""

    OPERATIONAL = "operational"
    MAINTENANCE = "maintenance"
    DEGRADED = "degraded"
    OUTAGE = "outage"


ORDER = list(Level)
_OF_IMPACT = {
    Incident.Impact.MAINTENANCE: Level.MAINTENANCE,
    Incident.Impact.DEGRADED: Level.DEGRADED,
    Incident.Impact.OUTAGE: Level.OUTAGE,
}


def worst(levels: Iterable[Level]) -> Level:
    return max(levels, key=ORDER.index, default=Level.OPERATIONAL)


def of_incident(impact: str) -> Level:
    return _OF_IMPACT[Incident.Impact(impact)]


def of_channel(
    name: str,
    accounts: list[AccountState | None],
    incidents: Iterable[Incident],
    alerts: Iterable[Alert],
) -> Level:
    """`accounts`: all that the channel has; None for one without a row, which takes messages."""
    return worst([
        *(of_incident(one.impact) for one in incidents if one.channel in {"", name}),
        *(Level.DEGRADED for one in alerts if _is_about(one, name)),
        *([Level.OUTAGE] if not any(map(_takes, accounts)) else []),
    ])  # fmt: skip


def of_api(incidents: Iterable[Incident], alerts: Iterable[Alert]) -> Level:
    return worst([
        *(of_incident(one.impact) for one in incidents if not one.channel),
        *(Level.OUTAGE for one in alerts if one.rule == API_DOWN),
    ])  # fmt: skip


def _is_about(alert: Alert, channel: str) -> bool:
    return alert.rule in ALL_LATE or (alert.rule == CHANNEL_DROPS and alert.subject == channel)


def _takes(account: AccountState | None) -> bool:
    """A half-open breaker lets one message at a time through: that is as good as none."""
    return account is None or (account.is_enabled and account.breaker == "closed")
