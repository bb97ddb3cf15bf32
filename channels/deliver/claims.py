"""What is due, each message with the account that is to carry it."""

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from uuid import UUID

import orjson
from django.conf import settings
from django.db import connection

from channels import sql
from channels.providers.hosted_provider import HostedProvider
from channels.vendor_accounts import availability, registry

MIN_USEFUL_SECONDS = 30  # seconds of use a message must have left to be attempted


@dataclass(frozen=True, slots=True)
class ClaimedMessage:
    """One attempt on its way to a provider, as `sql.CLAIM` returns it."""

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
    chat_id: int | None  # 0: the person wants nothing from the bot any more
    message_id: UUID
    is_counted: bool = False  # the account's rate or probe allowed no more than so many
    trips: int | None = None  # it probes a breaker that has opened so often; None: no probe
    elsewhere: bool = False  # another account can carry it and has not failed it yet
    by_contact: bool = False  # another that this very person let us write by

    @property
    def is_probe(self) -> bool:
        return self.trips is not None


def claim(
    limit: int, without: Collection[str] = (), hosted: HostedProvider | None = None
) -> list[ClaimedMessage]:
    """Take up to `limit` due messages; their attempts are committed when this returns.

    Every process chooses among all accounts, and takes those messages whose account it may call.
    """
    statement = sql.CLAIM_COUNTED if availability.is_any_limited() else sql.CLAIM
    left_out = {*without, *(availability.unbound_accounts() if hosted is None else ())}
    ours = registry.accounts_called_by(hosted)
    ways = [
        asdict(route) | {"is_ours": route.provider in ours}
        for route in registry.routes()
        if route.provider not in left_out
    ]
    params: dict[str, str | int | bool] = {
        "ways": orjson.dumps(ways).decode(),
        "assume_contact": settings.TELEGRAM_BOT_ASSUME_CONTACT,
        "margin": MIN_USEFUL_SECONDS,
        "lease": settings.LEASE,
        "limit": limit,
    }
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return [_from_row(row) for row in cursor.fetchall()]


def _from_row(row: Sequence[Any]) -> ClaimedMessage:
    """Django leaves jsonb as text on raw cursors."""
    claimed = ClaimedMessage(*row)
    return replace(claimed, params=orjson.loads(row[6]))
