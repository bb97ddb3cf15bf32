"""The impact of a failing channel: waiting messages, their age, and companies that use it."""

from dataclasses import dataclass, field
from datetime import timedelta

from django.utils import timezone

from catalogue.channels import CHANNELS, Channel
from catalogue.ids import first_id_at
from channels.vendor_accounts import error_texts, pauses
from operator_admin import figures
from operator_admin.figures import AccountState
from storage.statements import sql_files
from storage.statements.queries import select

RECENT = timedelta(hours=1)
PAGE_SIZE = 50

_SQL = sql_files.read_several("operator_admin/incidents/impact.sql")


@dataclass(frozen=True, slots=True)
class Waiting:
    """Messages of a channel that no vendor has accepted yet. `oldest` is in seconds."""

    channel: str
    waiting: int = 0
    under_30s: int = 0
    under_2min: int = 0
    under_10min: int = 0
    older: int = 0
    expiring: int = 0
    with_fallback: int = 0
    companies: int = 0
    oldest: float | None = None

    @property
    def fallback_share(self) -> float | None:
        return figures.percent(self.with_fallback, self.waiting)


@dataclass(frozen=True, slots=True)
class ChannelState:
    channel: Channel
    waiting: Waiting
    accounts: list[tuple[str, AccountState]] = field(default_factory=list)  # title, state

    @property
    def accounts_in_use(self) -> int:
        """The number of accounts that messages are sent to now."""
        return sum(row.is_enabled and row.breaker != "open" for _title, row in self.accounts)

    @property
    def is_paused(self) -> bool:
        return any(row.is_paused_with_channel for _title, row in self.accounts)

    @property
    def can_pause(self) -> bool:
        return any(row.is_enabled for _title, row in self.accounts)

    @property
    def pause_reason(self) -> str:
        reasons = (row.pause_reason for _t, row in self.accounts if row.is_paused_with_channel)
        return next(reasons, "")


@dataclass(frozen=True, slots=True)
class AffectedCompany:
    id: int
    name: str
    waiting: int
    with_fallback: int
    sends: int  # in the last hour
    delivered: int
    final: int

    @property
    def share(self) -> float | None:
        return figures.percent(self.delivered, self.final)


def channel_states() -> list[ChannelState]:
    """The states of the channels that have an account."""
    waiting = {row.channel: row for row in select(Waiting, _SQL["waiting"])}
    states = figures.account_states()
    return [
        ChannelState(
            channel,
            waiting.get(channel.name, Waiting(channel.name)),
            [(str(error_texts.provider_title(name)), states[name]) for name in names],
        )
        for channel in CHANNELS
        if (names := [name for name in pauses.accounts_of(channel.name) if name in states])
    ]


def affected_companies(channel: str, page: int) -> list[AffectedCompany]:
    """The companies of a page, and one more if there is a next page."""
    since = first_id_at(timezone.now() - RECENT)
    limit = PAGE_SIZE + 1
    offset = page * PAGE_SIZE
    params = {"channel": channel, "since": since, "limit": limit, "offset": offset}
    return select(AffectedCompany, _SQL["companies"], params)
