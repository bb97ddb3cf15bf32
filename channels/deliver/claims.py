"""Claims due messages, each with the provider account that will carry it."""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

import orjson
from django.conf import settings

from channels import sql
from channels.lifecycle.state_machine import MIN_TIME_LEFT
from channels.providers.base import HostedProvider
from channels.vendor_accounts import availability, registry
from storage.statements.single_statement import fetch_rows


@dataclass(frozen=True, slots=True)
class ClaimedMessage:
    """One attempt to hand to a provider: a row of `sql.CLAIM`."""

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
    first_claim: str | None = None  # see `state_machine.FirstClaim`
    is_counted: bool = False  # a rate limit or breaker probe bounds the claims
    trips: int | None = None  # of the breaker that this message probes; None: no probe
    has_other_account: bool = False  # one that can carry it and has not failed
    has_contact_account: bool = False  # one that has a contact of this person

    @property
    def is_probe(self) -> bool:
        return self.trips is not None


def claim(
    limit: int, excluded: Collection[str] = (), hosted: HostedProvider | None = None
) -> list[ClaimedMessage]:
    """Claims up to `limit` due messages; their attempts are committed when this returns.

    Every process chooses among all accounts, but claims only messages for accounts it may call.
    """
    statement = sql.CLAIM_COUNTED if availability.is_any_limited() else sql.CLAIM
    excluded_names = {*excluded, *(availability.unbound_accounts() if hosted is None else ())}
    callable_here = registry.accounts_called_by(hosted)
    routes = [
        asdict(route) | {"is_ours": route.provider in callable_here}
        for route in registry.routes()
        if route.provider not in excluded_names
    ]
    params: dict[str, Any] = {
        "routes": orjson.dumps(routes).decode(),
        "assume_contact": settings.TELEGRAM_BOT_ASSUME_CONTACT,
        "margin": MIN_TIME_LEFT,
        "lease": settings.LEASE,
        "limit": limit,
    }
    return fetch_rows(sql.recent(statement), params, _claimed)


def _claimed(*, params: str, **columns: Any) -> ClaimedMessage:
    """Parses `params` here, since Django leaves jsonb as text on raw cursors."""
    return ClaimedMessage(params=orjson.loads(params), **columns)
