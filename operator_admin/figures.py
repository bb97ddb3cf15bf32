"""Current figures for the operator's pages and for Prometheus, from the database."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import orjson
from django.utils import timezone

from accounts.models import Company
from billing.models import Order
from catalogue.channels import BY_NAME
from catalogue.ids import first_id_at
from channels.models import ProviderAlert
from channels.vendor_accounts import error_texts, registry
from storage.statements import sql_files
from storage.statements.queries import fetch_tuples, select

_SQL = sql_files.read_several("operator_admin/figures.sql")
SHOWN_WAITING = 10
ALIVE_SECONDS = 20.0  # four heartbeats
ALERT_LIMIT = 50  # newest, across all accounts
MAX_COUNTED = 10_000  # messages per company and day, in a list of companies


def percent(delivered: int, final: int) -> float | None:
    """The percentage delivered of the messages with a final state."""
    return round(100 * delivered / final, 1) if final else None


@dataclass(frozen=True, slots=True)
class ChannelDay:
    channel: str
    sends: int
    delivered: int
    final: int
    median: float | None  # seconds until delivered

    @property
    def title(self) -> str:
        return str(BY_NAME[self.channel].title)

    @property
    def share(self) -> float | None:
        return percent(self.delivered, self.final)


@dataclass(frozen=True, slots=True)
class Queue:
    """The figures of the queues; ages are in seconds."""

    due: int
    oldest_due: float | None
    retrying: int
    open_messages: int
    held: int
    leases: int
    overdue_leases: int
    ambiguous: int
    parked_receipts: int
    oldest_parked: float | None
    webhooks: int
    oldest_webhook: float | None
    emails: int
    oldest_email: float | None


@dataclass(frozen=True, slots=True)
class Heartbeat:
    kind: str
    process: str
    age: float  # seconds
    details: dict[str, int]
    keys: dict[str, list[str]]  # `storage.key_rings.identities` of the process

    @property
    def is_alive(self) -> bool:
        return self.age <= ALIVE_SECONDS


@dataclass(frozen=True, slots=True)
class Today:
    """The figures of the index page, except waiting items, which `attention` counts."""

    channels: list[ChannelDay]
    queue: Queue
    unpaid: int  # invoices
    open_breakers: list[str]  # titles of the accounts
    waiting: list[Company]  # for approval, the oldest first

    @property
    def sends(self) -> int:
        return sum(day.sends for day in self.channels)

    @property
    def share(self) -> float | None:
        return percent(sum(c.delivered for c in self.channels), sum(c.final for c in self.channels))


def today() -> Today:
    since = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    waiting = Company.objects.filter(status=Company.Status.PENDING)
    invoices = Order.objects.filter(state=Order.State.PENDING, invoice_number__isnull=False)
    return Today(
        channels=sends(since),
        queue=queue(),
        unpaid=invoices.count(),
        open_breakers=_accounts_with_open_breaker(),
        waiting=list(waiting.order_by("created_at")[:SHOWN_WAITING]),
    )


def _accounts_with_open_breaker() -> list[str]:
    live = registry.live_providers()
    return [
        str(error_texts.provider_title(name))
        for name, state in account_states().items()
        if name in live and state.breaker != "closed"
    ]


def sends(since: datetime) -> list[ChannelDay]:
    return select(ChannelDay, _SQL["sends"], {"since": first_id_at(since)})


def queue() -> Queue:
    (queue_row,) = select(Queue, _SQL["queue"])
    return queue_row


def heartbeats(kind: str | None = None) -> list[Heartbeat]:
    rows = select(_heartbeat, _SQL["heartbeats"])
    return [row for row in rows if kind in {None, row.kind}]


def _heartbeat(*, details: str, **columns: Any) -> Heartbeat:
    """A heartbeat from a row; `details` is parsed here: raw cursors return jsonb as text."""
    reported = orjson.loads(details)
    keys = reported.pop("keys", {})
    return Heartbeat(details=reported, keys=keys, **columns)


@dataclass(frozen=True, slots=True)
class CompanyDay:
    id: int
    available: int | None
    held: int | None
    last_send: datetime | None
    sends: int
    delivered: int
    final: int
    members: int

    @property
    def share(self) -> float | None:
        return percent(self.delivered, self.final)

    @property
    def is_capped(self) -> bool:
        return self.sends >= MAX_COUNTED


def companies(ids: Sequence[int]) -> dict[int, CompanyDay]:
    days = select(CompanyDay, _SQL["companies"], {"ids": list(ids), "limit": MAX_COUNTED})
    return {day.id: day for day in days}


@dataclass(frozen=True, slots=True)
class AccountState:
    """An account's settings by the operator, and its breaker."""

    name: str
    id: int
    is_enabled: bool
    position: int
    weight: int
    share_factor: float  # of the weight, learned from correct codes
    prefixes: list[str]
    max_per_second: int | None
    reason: str
    opened_at: datetime | None
    trips: int
    pause_reason: str
    is_paused_with_channel: bool
    breaker: str  # closed, half-open or open
    opens_in: float | None  # seconds until half-open

    @property
    def learned_share(self) -> float | None:
        """The account's current share; None if it is the operator's weight."""
        return None if abs(self.share_factor - 1) < 0.01 else self.weight * self.share_factor


def account_states() -> dict[str, AccountState]:
    return {state.name: state for state in select(AccountState, _SQL["accounts"])}


class RecentCalls(NamedTuple):
    account: str
    calls: int
    failures: int


class ErrorCount(NamedTuple):
    account: str
    error_class: str
    error_code: str  # the vendor's
    times: int


@dataclass(slots=True)
class Account:
    """An account with a provider, configured or not."""

    name: str
    title: str
    provider: Any = None
    state: AccountState | None = None
    recent_calls: int = 0  # calls of the last minutes
    recent_failures: int = 0
    routes: list[registry.Route] = field(default_factory=list)
    last_success: datetime | None = None
    last_hour: int = 0
    open_attempts: int = 0
    errors: list[ErrorCount] = field(default_factory=list)
    alerts: list[ProviderAlert] = field(default_factory=list)
    process: Heartbeat | None = None  # the live process of a hosted account

    @property
    def is_hosted(self) -> bool:
        return self.name in registry.hosted_providers()

    @property
    def channel(self) -> str:
        return str(BY_NAME[self.provider.channel].title) if self.provider else ""

    @property
    def failures(self) -> int:
        return sum(error.times for error in self.errors)

    @property
    def failure_share(self) -> float | None:
        return percent(self.failures, self.last_hour)


def accounts() -> list[Account]:
    live = registry.live_providers()
    states = account_states()
    accounts_by_name = {
        name: Account(name, str(error_texts.provider_title(name)), live.get(name), states.get(name))
        for name in dict.fromkeys([*live, *error_texts.PROVIDERS])
    }
    for recent in select(RecentCalls, _SQL["recent_calls"]):
        if account := accounts_by_name.get(recent.account):
            account.recent_calls = recent.calls
            account.recent_failures = recent.failures
    for route in registry.routes():
        if route.mode == "live":
            accounts_by_name[route.provider].routes.append(route)
    _add_attempt_counts(accounts_by_name, live)
    for alert in ProviderAlert.objects.order_by("-at")[:ALERT_LIMIT]:
        if alert.provider in accounts_by_name:
            accounts_by_name[alert.provider].alerts.append(alert)
    for heartbeat in heartbeats():
        if heartbeat.kind in registry.hosted_providers() and heartbeat.is_alive:
            accounts_by_name[heartbeat.kind].process = heartbeat
    return sorted(accounts_by_name.values(), key=_sort_key)


def call_failures() -> list[RecentCalls]:
    names = list(registry.live_providers())
    return select(RecentCalls, _SQL["call_failures"], {"names": names})


def _add_attempt_counts(accounts_by_name: dict[str, Account], live: Iterable[str]) -> None:
    rows = fetch_tuples(_SQL["last_successes"], {"names": list(live)})
    for name, last_success, last_hour in rows:
        account = accounts_by_name[name]
        account.last_success = last_success
        account.last_hour = last_hour
    for name, attempts in fetch_tuples(_SQL["open_attempts"]):
        if name in accounts_by_name:
            accounts_by_name[name].open_attempts = attempts
    for error in select(ErrorCount, _SQL["errors"]):
        if error.account in accounts_by_name:
            accounts_by_name[error.account].errors.append(error)


def _sort_key(account: Account) -> tuple[bool, int]:
    position = account.state.position if account.state else 0
    return account.provider is None, position
