"""Compares problems with open alerts: which began, which continue, which have ended.

A run claims its group's row, evaluates outside a transaction, and writes alerts and notices in one.
So with two beats only one run counts; a run that was killed is repeated a minute later.
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import connection, transaction

from operator_admin.alerts import notifications
from operator_admin.alerts.conditions import Details
from operator_admin.alerts.rules import RULES, Group
from operator_admin.models import Alert, AlertRun
from storage.statements import sql_files
from storage.statements.queries import fetch_value

log = structlog.get_logger(__name__)

# A little less than the schedule's intervals, which drift.
INTERVALS = {Group.MINUTE: timedelta(seconds=45), Group.OUTSIDE: timedelta(minutes=14)}
# A flapping problem is one alert, which ends if the problem is not seen for this long.
RECOVERY = {Group.MINUTE: timedelta(minutes=3), Group.OUTSIDE: timedelta()}
REOPENED_WITHIN = timedelta(hours=1)  # counts as the same alert: its reminders continue
REMINDERS = [timedelta(hours=hours) for hours in (1, 4, 12, 24)]  # the last one repeats
RETENTION = timedelta(days=30)

_CLAIM = sql_files.read("operator_admin/alerts/claim.sql")

Key = tuple[str, str]


def run(group: Group) -> bool:
    """Evaluates the group's rules if they are due; returns whether they were."""
    at = _claim(group)
    if at is None:
        return False
    details, evaluated = _evaluate(group)
    with transaction.atomic():
        # This run took so long that another has begun: its results are stale.
        if not AlertRun.objects.select_for_update().filter(group=group, at=at).exists():
            return False
        notifications.append(*_apply(details, evaluated, at))
        Alert.objects.filter(ended_at__lt=at - RETENTION).delete()
    return True


def _claim(group: Group) -> datetime | None:
    at: datetime | None = fetch_value(_CLAIM, [group.value, INTERVALS[group].total_seconds()])
    return at


def _evaluate(group: Group) -> tuple[dict[Key, Details], set[str]]:
    """The problems, and the rules that were evaluated; alerts of other rules stay open."""
    open_now: dict[Key, Details] = {}
    evaluated: set[str] = set()
    for name, rule in RULES.items():
        if rule.group is not group:
            continue
        try:
            problems = list(rule.condition())
        except Exception:  # a rule's crash must not silence the others
            log.exception("alert_rule_failed", rule=name)
            connection.close_if_unusable_or_obsolete()
            continue
        evaluated.add(name)
        open_now |= {
            (name, subject[:120]): details
            for subject, details in problems
            if settings.OPERATOR_MUTED_ALERTS.isdisjoint({name, f"{name}:{subject}"})
        }
    return open_now, evaluated


def _apply(
    details: Mapping[Key, Details], evaluated: Collection[str], at: datetime
) -> tuple[list[Alert], list[Alert]]:
    """The alerts to be sent, new ones and reminders, and those that ended."""
    rows = Alert.objects.select_for_update().filter(ended_at=None, rule__in=RULES).order_by("pk")
    alerts = {(alert.rule, alert.subject): alert for alert in rows}
    alerts |= {key: _begin(key, at) for key in details if key not in alerts}
    ended: list[Alert] = []
    for key, alert in alerts.items():
        if key in details:
            alert.details = details[key]
            alert.missing_since = None
        elif alert.rule in evaluated and _has_ended(alert, at):
            alert.ended_at = at
            ended.append(alert)
    begun = list(_due(list(alerts.values()), at))
    for alert in alerts.values():
        if alert.ended_at and not alert.notices:
            alert.delete()  # no notice was sent
        else:
            alert.save()
    return begun, [alert for alert in ended if alert.is_announced]


def _begin(key: Key, at: datetime) -> Alert:
    """A new alert, or a recent one reopened, whose next notice is then a reminder."""
    rule, subject = key
    due_at = at + RULES[rule].pending
    ended = Alert.objects.filter(rule=rule, subject=subject, ended_at__gt=at - REOPENED_WITHIN)
    alert = ended.order_by("-ended_at").first()
    if alert is None:
        return Alert(rule=rule, subject=subject, began_at=at, due_at=due_at)
    alert.began_at = at
    alert.ended_at = None
    alert.due_at = max(due_at, alert.due_at) if alert.notices else due_at
    return alert


def _has_ended(alert: Alert, at: datetime) -> bool:
    """Whether the alert is over; an unannounced one ends at once, so that its pending time
    restarts.
    """
    alert.missing_since = alert.missing_since or at
    recovery = RECOVERY[RULES[alert.rule].group]
    return not alert.is_announced or at - alert.missing_since >= recovery


def _due(alerts: Collection[Alert], at: datetime) -> Iterator[Alert]:
    present = {alert.rule for alert in alerts if alert.missing_since is None}
    for alert in alerts:
        is_withheld = present.intersection(RULES[alert.rule].causes)
        if alert.missing_since is None and alert.due_at <= at and not is_withheld:
            alert.due_at = at + REMINDERS[min(alert.notices, len(REMINDERS) - 1)]
            alert.notices += 1
            alert.notified_at = at
            yield alert
