"""Prometheus metrics: the processes' counters, and gauges read from the database."""

from collections.abc import Iterator
from math import inf
from typing import Any

import structlog
from django.db import Error as DatabaseError
from django.db import connection
from django.db.models import Count
from django.utils import timezone
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from psycopg_pool import PoolTimeout

from channels.vendor_accounts.registry import hosted_providers, live_providers
from links.clicks import stream
from operator_admin import figures
from otp.models import GuardProgress, GuardRestriction
from processes.monitoring import metrics
from storage import clickhouse

log = structlog.get_logger(__name__)

QUEUE = {
    "kvitok_queue_due": ("due", "Messages due now"),
    "kvitok_queue_oldest_seconds": ("oldest_due", "Age of the message due for the longest time"),
    "kvitok_queue_retrying": ("retrying", "Messages that will be tried again later"),
    "kvitok_open_messages": ("open_messages", "Messages without a final state"),
    "kvitok_open_holds_tokens": ("held", "Tokens held for open messages"),
    "kvitok_open_leases": ("leases", "Provider calls under way"),
    "kvitok_overdue_leases": ("overdue_leases", "Attempts whose lease ran out"),
    "kvitok_ambiguous_attempts": ("ambiguous", "Attempts of unknown outcome, message open"),
    "kvitok_webhooks_due": ("webhooks", "Webhooks due now"),
    "kvitok_webhooks_oldest_seconds": ("oldest_webhook", "Age of the oldest webhook due"),
    "kvitok_emails_due": ("emails", "E-mails due now"),
    "kvitok_emails_oldest_seconds": ("oldest_email", "Age of the oldest e-mail due"),
    "kvitok_parked_receipts": ("parked_receipts", "Receipts that match no attempt yet"),
}


BREAKERS = ("closed", "half-open", "open")
# Kinds of processes that every installation runs.
PROCESSES = ("web", "delivery", "beat")


class DatabaseCollector:
    """Queries the gauges at each scrape; without the database it reports only that."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        try:
            queue = figures.queue()
            heartbeats = figures.heartbeats()
            states = figures.account_states()
            guard = list(_guard_gauges())
        except (DatabaseError, PoolTimeout) as error:
            log.warning("scrape_without_database", error=type(error).__name__)
            yield GaugeMetricFamily("kvitok_database_up", "PostgreSQL answers", 0)
            return
        finally:
            connection.close()
        yield GaugeMetricFamily("kvitok_database_up", "PostgreSQL answers", 1)
        for name, (field, help_text) in QUEUE.items():
            yield GaugeMetricFamily(name, help_text, getattr(queue, field) or 0)
        yield from _process_gauges(heartbeats)
        yield _breaker_gauge(states)
        yield from guard
        yield from _click_gauges()


def _guard_gauges() -> Iterator[GaugeMetricFamily]:
    """The open restrictions against SMS pumping, and the age of the last counted evidence."""
    held = GaugeMetricFamily(
        "kvitok_guard_restrictions",
        "Open restrictions of the protection against SMS pumping",
        labels=["step"],
    )
    restrictions = GuardRestriction.objects.filter(ended_at=None, is_enforced=True)
    counts = dict(restrictions.values_list("step").annotate(n=Count("pk")).order_by("step"))
    for step in GuardRestriction.Step:
        held.add_metric([step.name.lower()], counts.get(step.value, 0))
    yield held
    progress = GuardProgress.objects.first()
    if progress is not None:
        age = (timezone.now() - progress.counted_until).total_seconds()
        help_text = "Seconds since outcomes of codes were last counted as evidence"
        yield GaugeMetricFamily("kvitok_guard_counted_seconds", help_text, max(0.0, age))


def _click_gauges() -> Iterator[GaugeMetricFamily]:
    """The gauges of the stream of clicks; none without Redis."""
    if (age := stream.lag_seconds()) is not None:
        help_text = "Age of the oldest clicks that are not yet counted, reported or used as proof"
        yield GaugeMetricFamily("kvitok_clicks_oldest_seconds", help_text, age)
    if clickhouse.is_configured() and (age := stream.sink_lag_seconds()) is not None:
        help_text = "Age of the oldest clicks that are not in ClickHouse yet"
        yield GaugeMetricFamily("kvitok_clickhouse_oldest_seconds", help_text, age)


def _process_gauges(heartbeats: list[figures.Heartbeat]) -> Iterator[GaugeMetricFamily]:
    # Rows are deleted after an hour; without a sample the alert would end during the outage.
    youngest = dict.fromkeys((*PROCESSES, *hosted_providers()), inf)
    for heartbeat in heartbeats:
        youngest[heartbeat.kind] = min(heartbeat.age, youngest.get(heartbeat.kind, inf))
    age = GaugeMetricFamily(
        "kvitok_heartbeat_age_seconds",
        "Seconds since the last heartbeat of a process of this kind; infinite without one",
        labels=["kind"],
    )
    for kind, seconds in youngest.items():
        age.add_metric([kind], seconds)
    yield age
    yield from _bind_gauges(
        [
            heartbeat
            for heartbeat in heartbeats
            if "bound" in heartbeat.details and heartbeat.is_alive
        ]
    )
    web = [
        heartbeat.details
        for heartbeat in heartbeats
        if heartbeat.kind == "web" and heartbeat.is_alive
    ]
    waiters = sum(details.get("waiters", 0) for details in web)
    listening = [details["listening"] for details in web if "listening" in details]
    yield GaugeMetricFamily("kvitok_waiters", "Sends that wait for their outcome", waiters)
    yield GaugeMetricFamily(
        "kvitok_listeners_down", "Web processes that receive no outcomes", listening.count(0)
    )


BINDS = {
    "kvitok_smpp_bound": ("bound", "Whether the account is bound"),
    "kvitok_smpp_window_used": ("unanswered", "Requests the message centre has not answered yet"),
    "kvitok_smpp_window": ("window", "Requests that may be unanswered at once"),
}


def _bind_gauges(heartbeats: list[figures.Heartbeat]) -> Iterator[GaugeMetricFamily]:
    for name, (fact, help_text) in BINDS.items():
        gauge = GaugeMetricFamily(name, help_text, labels=["account"])
        for heartbeat in heartbeats:
            gauge.add_metric([heartbeat.kind], heartbeat.details.get(fact, 0))
        yield gauge


def _breaker_gauge(states: dict[str, figures.AccountState]) -> GaugeMetricFamily:
    """The gauge of every configured account's breaker; one without a row has never failed."""
    state = GaugeMetricFamily(
        "kvitok_breaker_state", "Breaker: 0 closed, 1 half-open, 2 open", labels=["provider"]
    )
    for name in live_providers():
        breaker = states[name].breaker if name in states else "closed"
        state.add_metric([name], BREAKERS.index(breaker))
    return state


def collector_registry() -> CollectorRegistry:
    collectors: Any = CollectorRegistry()
    add: Any = MultiProcessCollector  # not typed
    add(collectors, str(metrics.directory()))
    collectors.register(DatabaseCollector())
    return collectors  # type: ignore[no-any-return]
