"""Proves deliveries by people's clicks on links in messages.

The first click also cancels the message's fallback to other channels.
"""

from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection, transaction

from billing.wallet.ledger import DeliveryProof
from channels.outcomes import transitions
from links.clicks.stream import Batch, Consumer
from storage.statements import sql_files
from storage.store_errors import is_refused_by_database, write_together

log = structlog.get_logger(__name__)

CONSUMER = Consumer("proofs", "prover")
_FIRST_CLICKS = sql_files.read("links/clicks/first_clicks.sql")


def prove_clicks() -> int:
    return CONSUMER.consume(_prove_batches)


def _prove_batches(batches: list[Batch]) -> None:
    first: dict[UUID, float] = {}
    for batch in batches:
        for link_id, times in batch.by_people().items():
            first.setdefault(link_id, min(times) / 1000)  # the stream is in order
    all_clicks = list(first.items())
    write_together(all_clicks, lambda clicks: prove(dict(clicks)), _refuse, is_refused_by_database)


def _refuse(click: tuple[UUID, float], error: Exception) -> None:
    log.error("click_not_proved", link=str(click[0]), exc_info=error)


def prove(first_clicks: dict[UUID, float]) -> None:
    """Proves the messages of these links; a link that was clicked before changes nothing.

    `first_clicks`: link → Unix seconds.
    """
    if not first_clicks:
        return
    with transaction.atomic(), connection.cursor() as cursor:
        params: dict[str, Any] = {
            "ids": list(first_clicks),
            "times": list(first_clicks.values()),
            "zone": settings.TIME_ZONE,
        }
        cursor.execute(_FIRST_CLICKS, params)
        # One of several messages of a code is proved, whichever was opened.
        used = {subject_id: message_id for message_id, subject_id in cursor.fetchall()}
        decisions = (
            transitions.prove(cursor, list(used.items()), DeliveryProof.CLICK) if used else []
        )
    transitions.announce(decisions)
