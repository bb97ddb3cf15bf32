"""Claims due messages, each with the provider account that will carry it."""

from collections.abc import Collection
from dataclasses import asdict, dataclass, replace
from typing import Any
from uuid import UUID

import orjson
from django.conf import settings

from channels import extensions, sql
from channels.extensions import CUSTOM_CODE
from channels.lifecycle.state_machine import MIN_TIME_LEFT
from channels.providers.base import HostedProvider
from channels.vendor_accounts import availability, registry
from storage.statements import sql_files
from storage.statements.single_statement import fetch_rows
from webhooks import events

_CLAIM = sql_files.read("channels/deliver/claim.sql")
_HAS_SUBSCRIBERS = events.has_endpoint_sql("claimed")

# Used while no account is counted: it skips counted accounts, and costs half as much.
CLAIM = sql_files.fill(
    _CLAIM,
    counted="",
    use="NULL::int AS allowance, NULL::int AS trips",
    with_use="",
    is_counted="false",
    has_subscribers=_HAS_SUBSCRIBERS,
    picked="picked AS (SELECT * FROM due),",
)

# The number of messages an account's rate allows right now: GCRA with a
# burst of a tenth of a second.
_RATE_ALLOWANCE = """floor(1e-6 + max_per_second * (GREATEST(0.1, 1.0 / max_per_second)
        - GREATEST(0, EXTRACT(epoch FROM COALESCE(tat, now()) - now()))))"""

# Used if a rate limit, or the single probe of a half-open breaker, bounds the claims of an account.
# Locks these accounts first, so that concurrent workers share the allowance.
CLAIM_COUNTED = sql_files.fill(
    _CLAIM,
    counted=f"""
counted AS MATERIALIZED (
  SELECT name, CASE WHEN open_until IS NOT NULL THEN trips END AS trips, LEAST(
      CASE WHEN open_until IS NOT NULL THEN 1 END,
      CASE WHEN max_per_second IS NOT NULL THEN {_RATE_ALLOWANCE} END) AS allowance
  FROM channels_provideraccount
  WHERE is_enabled AND (open_until IS NOT NULL OR max_per_second IS NOT NULL)
    AND (open_until IS NULL OR (open_until <= now() AND (
      probed_at IS NULL OR probed_at < now() - make_interval(secs => %(lease)s))))
    AND (max_per_second IS NULL OR {_RATE_ALLOWANCE} >= 1)
    AND EXISTS (SELECT 1 FROM channels_openmessage WHERE due_at <= now())
  ORDER BY name FOR UPDATE),""",  # noqa: S608
    use="u.allowance, u.trips",
    with_use="LEFT JOIN counted u ON u.name = w.provider",
    is_counted="u.name IS NOT NULL",
    has_subscribers=_HAS_SUBSCRIBERS,
    picked="""
picked AS (
  SELECT * FROM (
    SELECT due.*, row_number() OVER (PARTITION BY provider ORDER BY priority, due_at) AS row_number
    FROM due) p
  WHERE allowance IS NULL OR row_number <= allowance),
used AS (
  UPDATE channels_provideraccount a SET
    tat = GREATEST(a.tat, now()) + make_interval(secs => t.n::float / a.max_per_second),
    probed_at = CASE WHEN a.open_until IS NULL THEN NULL ELSE now() END
  FROM (SELECT provider, count(*) AS n FROM picked WHERE allowance IS NOT NULL GROUP BY 1) t
  WHERE a.name = t.provider),""",
)


@dataclass(frozen=True, slots=True)
class ClaimedMessage:
    """One attempt to hand to a provider: a row of `claim.sql`."""

    attempt_id: UUID
    n: int
    kind: str
    content: str
    phone: str
    subject_id: UUID
    params: dict[str, Any]
    locale: str
    mode: str
    provider: str
    ttl: int
    chat_id: int | None  # 0: the person blocked the bot
    message_id: UUID
    channel: str
    price: int
    claim_xid: str | None = None  # set on the first claim; see `state_machine.FirstClaim`
    is_counted: bool = False  # a rate limit or breaker probe bounds the claims
    trips: int | None = None  # trips of the breaker that this message probes; None: no probe
    has_other_account: bool = False  # an account that can carry the message and has not failed
    has_contact_account: bool = False  # another account has a contact of this person

    @property
    def is_probe(self) -> bool:
        return self.trips is not None


def claim(
    limit: int, excluded: Collection[str] = (), hosted: HostedProvider | None = None
) -> list[ClaimedMessage]:
    """Claims up to `limit` due messages; their attempts are committed when this returns.

    Every process chooses among all accounts, but claims only messages for accounts it may call.
    """
    statement = CLAIM_COUNTED if availability.is_any_limited() else CLAIM
    # The heartbeat of a newly bound process lags behind: the process itself knows better.
    unbound = availability.unbound_accounts() - {hosted.name if hosted else ""}
    excluded_names = {*excluded, *unbound}
    callable_here = registry.accounts_called_by(hosted)
    routes = [
        asdict(route) | {"is_ours": route.provider in callable_here}
        for route in registry.routes()
        if route.provider not in excluded_names
    ]
    params: dict[str, Any] = {
        "routes": orjson.dumps(routes).decode(),
        "assume_contact": settings.BOTS_ASSUME_CONTACT,
        "margin": MIN_TIME_LEFT,
        "lease": settings.LEASE,
        "limit": limit,
    }
    claimed = fetch_rows(sql.in_changeable_months(statement), params, _claimed)
    return _with_sealed_codes(claimed)


def _with_sealed_codes(claimed: list[ClaimedMessage]) -> list[ClaimedMessage]:
    """Looks up the codes of the few messages that carry a custom code."""
    ids = [item.message_id for item in claimed if CUSTOM_CODE in item.params]
    if not ids:
        return claimed
    sealed = extensions.kinds["code"].find_custom_codes(ids)
    return [
        replace(item, params={**item.params, CUSTOM_CODE: sealed.get(item.message_id)})
        if CUSTOM_CODE in item.params
        else item
        for item in claimed
    ]


def _claimed(*, params: str, **columns: Any) -> ClaimedMessage:
    """Parses `params` here, since Django leaves jsonb as text on raw cursors."""
    return ClaimedMessage(params=orjson.loads(params), **columns)
