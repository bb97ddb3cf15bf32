"""Counts the days of the status page, and summarises them with a few small queries.

A level is the worst of the operator's incidents and the service's measurements. To reveal no single
company, a day's figures need enough companies, none of which makes up most of the day.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from statistics import median

from django.conf import settings
from django.db.backends.utils import CursorWrapper
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from catalogue.channels import BY_NAME, CHANNELS
from channels.models import CountedDay, Heartbeat
from channels.vendor_accounts import pauses
from operator_admin import figures
from operator_admin.figures import AccountState
from operator_admin.models import Alert, Incident, StatusDay
from storage.process_cache import SnapshotCache
from storage.statements import sql_files
from storage.statements.queries import execute

SHOWN_DAYS = 90
PER_RUN = 10  # days; the first runs count the past
RECOUNTED = timedelta(days=3)  # late receipts change a day
RECOUNT_AFTER = timedelta(hours=6)
API = "api"

_SQL = sql_files.read_several("operator_admin/status/summary.sql")


def count_days() -> int:
    """Counts due days, the newest first; returns their number."""
    due = _due_days()[:PER_RUN]
    for day in due:
        _count(day)
    return len(due)


def _due_days() -> list[date]:
    """Days with counted messages whose status is not counted yet.

    The last days are due again after RECOUNT_AFTER.
    """
    today = timezone.localdate()
    rows = StatusDay.objects.exclude(component=API)
    is_fresh = Q(counted_at__gte=timezone.now() - RECOUNT_AFTER) | Q(day__lt=today - RECOUNTED)
    counted = set(rows.filter(is_fresh).values_list("day", flat=True).distinct())
    days = CountedDay.objects.filter(day__gte=today - timedelta(days=SHOWN_DAYS))
    return [
        day for day in days.order_by("-day").values_list("day", flat=True) if day not in counted
    ]


def _count(day: date) -> None:
    names = [channel.name for channel in CHANNELS]
    execute(_SQL["count"], {"day": day, "channels": names})


def measure_api() -> None:
    """Counts this minute, and whether a web process is alive in it."""
    since = Now() - timedelta(seconds=figures.ALIVE_SECONDS)
    alive = int(Heartbeat.objects.filter(kind="web", at__gt=since).exists())
    day = timezone.localdate()
    execute(_SQL["measure"], {"component": API, "day": day, "alive": alive})


# Alerts that mean late messages in every channel.
ALL_LATE = frozenset({"worker-silent", "queue-stands"})
CHANNEL_DROPS = "delivery-falls"
API_DOWN = "web-silent"


class Level(StrEnum):
    """Levels from best to worst."""

    OPERATIONAL = "operational"
    MAINTENANCE = "maintenance"
    DEGRADED = "degraded"
    OUTAGE = "outage"


ORDER = list(Level)
_LEVEL_OF_IMPACT = {
    Incident.Impact.MAINTENANCE: Level.MAINTENANCE,
    Incident.Impact.DEGRADED: Level.DEGRADED,
    Incident.Impact.OUTAGE: Level.OUTAGE,
}


def worst(levels: Iterable[Level]) -> Level:
    return max(levels, key=ORDER.index, default=Level.OPERATIONAL)


def of_incident(impact: str) -> Level:
    return _LEVEL_OF_IMPACT[Incident.Impact(impact)]


def of_channel(
    name: str,
    accounts: list[AccountState | None],
    incidents: Iterable[Incident],
    alerts: Iterable[Alert],
) -> Level:
    """The level of a channel now.

    `accounts` are all of its accounts; None stands for one without a row, which is in use.
    """
    return worst(
        [
            *(of_incident(row.impact) for row in incidents if row.channel in {"", name}),
            *(Level.DEGRADED for alert in alerts if _is_about(alert, name)),
            *([Level.OUTAGE] if not any(map(_is_in_use, accounts)) else []),
        ]
    )


def of_api(incidents: Iterable[Incident], alerts: Iterable[Alert]) -> Level:
    return worst(
        [
            *(of_incident(row.impact) for row in incidents if not row.channel),
            *(Level.OUTAGE for alert in alerts if alert.rule == API_DOWN),
        ]
    )


def _is_about(alert: Alert, channel: str) -> bool:
    return alert.rule in ALL_LATE or (alert.rule == CHANNEL_DROPS and alert.subject == channel)


def _is_in_use(account: AccountState | None) -> bool:
    """Whether messages are sent to the account; a half-open one, which gets few, does not count."""
    return account is None or (account.is_enabled and account.breaker == "closed")


REFRESH_INTERVAL = 15.0
MIN_MESSAGES = 20  # ended messages of a day that is shown
MAX_SHARE_OF_ONE = 0.85  # of the day's messages, by one company
# Percentage points below the channel's own median day. Shares differ by channel, because people
# without a messenger are not failures of the service.
DEGRADED_FROM = 5.0
OUTAGE_FROM = 20.0
# The least shares of minutes in which the API responded.
API_OPERATIONAL = 0.999
API_DEGRADED = 0.99
HISTORY_DAYS = 90
MAX_HISTORY = 50


@dataclass(frozen=True, slots=True)
class Day:
    day: date
    level: Level | None  # None: no figures and no incident
    share: float | None = None  # per cent of messages delivered, or of minutes alive
    median_seconds: float | None = None
    minutes: int | None = None  # measured minutes of the API

    @property
    def css(self) -> str:
        return self.level or "unknown"


@dataclass(frozen=True, slots=True)
class Component:
    name: str
    level: Level
    days: tuple[Day, ...]  # the oldest first

    @property
    def is_api(self) -> bool:
        return self.name == API

    @property
    def title(self) -> str:
        return "API" if self.is_api else str(BY_NAME[self.name].title)

    @property
    def last(self) -> Day | None:
        """The newest day with figures."""
        return next((day for day in reversed(self.days) if day.share is not None), None)


@dataclass(frozen=True, slots=True)
class Summary:
    at: datetime
    level: Level
    components: tuple[Component, ...]
    open: tuple[Incident, ...]
    planned: tuple[Incident, ...]
    resolved: tuple[Incident, ...]


def _read(_cursor: CursorWrapper) -> Summary:
    now = timezone.now()
    since = now - timedelta(days=HISTORY_DAYS)
    rows = Incident.objects.public().prefetch_related("updates").order_by("-began_at", "-pk")
    incidents = [*rows.filter(resolved_at=None), *rows.filter(resolved_at__gte=since)[:MAX_HISTORY]]
    unresolved = [row for row in incidents if row.resolved_at is None]
    begun = [row for row in unresolved if row.began_at <= now]
    components = tuple(_components(incidents, begun, list(Alert.objects.firing())))
    return Summary(
        at=now,
        level=worst(component.level for component in components),
        components=components,
        open=tuple(begun),
        planned=tuple(row for row in unresolved if row.began_at > now),
        resolved=tuple(row for row in incidents if row.resolved_at),
    )


_cache: SnapshotCache[Summary | None] = SnapshotCache(
    "status", _read, None, interval=REFRESH_INTERVAL
)
get = _cache.get
reset = _cache.reset
refresh = _cache.refresh


def _components(
    incidents: Sequence[Incident], begun: Sequence[Incident], alerts: Sequence[Alert]
) -> Iterable[Component]:
    today = timezone.localdate()
    start = today - timedelta(days=SHOWN_DAYS - 1)
    rows: dict[str, dict[date, StatusDay]] = {}
    for row in StatusDay.objects.filter(day__gte=start):
        rows.setdefault(row.component, {})[row.day] = row
    all_days = [start + timedelta(days=offset) for offset in range(SHOWN_DAYS)]
    api = tuple(_api_day(day, rows.get(API, {}).get(day), incidents) for day in all_days)
    yield Component(API, of_api(begun, alerts), api)
    states = figures.account_states()
    for channel in CHANNELS:
        if names := pauses.accounts_of(channel.name):
            days = _channel_days(channel.name, all_days, rows.get(channel.name, {}), incidents)
            accounts = [states.get(name) for name in names]
            level = of_channel(channel.name, accounts, begun, alerts)
            yield Component(channel.name, level, tuple(days))


def is_shown(row: StatusDay) -> bool:
    """Whether the figures reveal nothing about a single company."""
    min_companies = settings.STATUS_MIN_COMPANIES
    if row.total < MIN_MESSAGES or row.companies < min_companies:
        return False
    return min_companies < 2 or row.largest <= MAX_SHARE_OF_ONE * row.total


def _channel_days(
    name: str, all_days: list[date], rows: dict[date, StatusDay], incidents: Sequence[Incident]
) -> Iterable[Day]:
    shares = {day: 100 * row.good / row.total for day, row in rows.items() if is_shown(row)}
    median_share = median(shares.values()) if shares else 0.0
    for day in all_days:
        announced = _incident_level(day, name, incidents)
        if day not in shares:
            yield Day(day, announced)
            continue
        level = worst([_level(median_share - shares[day]), *([announced] if announced else [])])
        ms = rows[day].median_ms
        yield Day(day, level, round(shares[day], 1), ms / 1000 if ms else None)


def _level(points_below: float) -> Level:
    if points_below >= OUTAGE_FROM:
        return Level.OUTAGE
    return Level.DEGRADED if points_below >= DEGRADED_FROM else Level.OPERATIONAL


def _api_day(day: date, row: StatusDay | None, incidents: Sequence[Incident]) -> Day:
    announced = _incident_level(day, "", incidents)
    if row is None or not row.total:
        return Day(day, announced)
    share = row.good / row.total
    measured = Level.OPERATIONAL if share >= API_OPERATIONAL else Level.DEGRADED
    level = Level.OUTAGE if share < API_DEGRADED else measured
    level = worst([level, *([announced] if announced else [])])
    return Day(day, level, round(100 * share, 2), minutes=row.total)


def _incident_level(day: date, channel: str, incidents: Sequence[Incident]) -> Level | None:
    """The worst level of the day's incidents, if any."""
    levels = [
        of_incident(incident.impact)
        for incident in incidents
        if incident.channel in {"", channel} and _lasts_on(incident, day)
    ]
    return worst(levels) if levels else None


def _lasts_on(incident: Incident, day: date) -> bool:
    began = timezone.localdate(incident.began_at)
    ended = timezone.localdate(incident.resolved_at) if incident.resolved_at else None
    return began <= day <= (ended or timezone.localdate())
