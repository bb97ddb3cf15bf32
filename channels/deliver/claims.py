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
    picked="picked AS (SELECT * FROM due_message),",
)

_LIMITS = sql_files.read_several("channels/deliver/account_limits.sql")
CLAIM_COUNTED = sql_files.fill(
    _CLAIM,
    counted=_LIMITS["counted"],
    use="counted.allowance, counted.trips",
    with_use="LEFT JOIN counted ON counted.name = given.provider",
    is_counted="counted.name IS NOT NULL",
    has_subscribers=_HAS_SUBSCRIBERS,
    picked=_LIMITS["picked"],
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
    claimed = fetch_rows(sql.in_changeable_months(statement), params, _claimed_message)
    return _with_sealed_codes(claimed)


def _with_sealed_codes(claimed: list[ClaimedMessage]) -> list[ClaimedMessage]:
    """The messages, with their sealed codes added to the few that carry a custom code."""
    ids = [message.message_id for message in claimed if CUSTOM_CODE in message.params]
    if not ids:
        return claimed
    sealed = extensions.kinds["code"].find_custom_codes(ids)
    return [
        replace(message, params={**message.params, CUSTOM_CODE: sealed.get(message.message_id)})
        if CUSTOM_CODE in message.params
        else message
        for message in claimed
    ]


def _claimed_message(*, params: str, **columns: Any) -> ClaimedMessage:
    """A message from a row; `params` is parsed here: Django leaves jsonb as text on raw cursors."""
    return ClaimedMessage(params=orjson.loads(params), **columns)
