"""The impact of a failing channel: waiting messages, their age, and companies that use it."""

from dataclasses import dataclass, field
from datetime import timedelta

from django.utils import timezone

from catalogue.channels import CHANNELS, Channel
from catalogue.ids import first_id_at
from channels.vendor_accounts import error_texts, pauses
from operator_admin import figures
from operator_admin.figures import AccountState
from storage.statements.queries import select

RECENT = timedelta(hours=1)
PAGE_SIZE = 50

# Reads only the open messages of large tables. A code with less than a minute left will hardly be
# entered in time.
_WAITING = """
SELECT m.channel, count(*) AS waiting,
  count(*) FILTER (WHERE m.created_at > now() - interval '30 seconds') AS under_30s,
  count(*) FILTER (WHERE m.created_at <= now() - interval '30 seconds'
    AND m.created_at > now() - interval '2 minutes') AS under_2min,
  count(*) FILTER (WHERE m.created_at <= now() - interval '2 minutes'
    AND m.created_at > now() - interval '10 minutes') AS under_10min,
  count(*) FILTER (WHERE m.created_at <= now() - interval '10 minutes') AS older,
  count(*) FILTER (WHERE m.kind = 'code' AND m.useful_until < now() + interval '1 minute')
    AS expiring,
  count(*) FILTER (WHERE m.chain <> '[]') AS with_fallback,
  count(DISTINCT m.company_id) AS companies,
  EXTRACT(epoch FROM now() - min(m.created_at))::float AS oldest
FROM channels_openmessage o JOIN channels_message m ON m.id = o.message_id
WHERE m.state = 'queued' AND m.mode = 'live' GROUP BY m.channel
"""

# Companies with the most waiting messages first; the primary key, ordered by time, bounds the scan.
_COMPANIES = """
WITH waiting AS (
  SELECT m.company_id, count(*) AS waiting, count(*) FILTER (WHERE m.chain <> '[]') AS with_fallback
  FROM channels_openmessage o JOIN channels_message m ON m.id = o.message_id
  WHERE m.state = 'queued' AND m.mode = 'live' AND m.channel = %(channel)s GROUP BY 1),
recent AS (
  SELECT company_id, count(*) AS sends,
    count(*) FILTER (WHERE state = 'delivered') AS delivered,
    count(*) FILTER (WHERE state IN ('delivered', 'failed', 'expired')) AS final
  FROM channels_message
  WHERE id >= %(since)s AND mode = 'live' AND channel = %(channel)s GROUP BY 1)
SELECT c.id, c.name, COALESCE(w.waiting, 0) AS waiting,
  COALESCE(w.with_fallback, 0) AS with_fallback, COALESCE(r.sends, 0) AS sends,
  COALESCE(r.delivered, 0) AS delivered, COALESCE(r.final, 0) AS final
FROM waiting w FULL JOIN recent r USING (company_id) JOIN accounts_company c ON c.id = company_id
ORDER BY waiting DESC, sends DESC, c.id LIMIT %(limit)s OFFSET %(offset)s
"""


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
    waiting = {row.channel: row for row in select(Waiting, _WAITING)}
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
    limit, offset = PAGE_SIZE + 1, page * PAGE_SIZE
    params = {"channel": channel, "since": since, "limit": limit, "offset": offset}
    return select(AffectedCompany, _COMPANIES, params)
