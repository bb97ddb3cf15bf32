"""Calls an endpoint, and derives the state of the delivery from the response."""

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import orjson
import structlog
from django.conf import settings
from django.utils import timezone

from catalogue.ids import public_id
from outbound.connections import seconds_of_retry
from webhooks import egress, signing
from webhooks.events import in_declared_order
from webhooks.models import Delivery, DeliveryAttempt

log = structlog.get_logger(__name__)
State = Delivery.State
Failure = DeliveryAttempt.Failure

GONE = 410
BUSY = {429, 503}  # their Retry-After is obeyed
# Seconds between tries; the last try is more than a day after the first.
RETRY_DELAYS = (5, 300, 1800, 7200, 18_000, 36_000, 36_000)
JITTER = 0.5  # fraction of a delay, plus or minus: simultaneous failures do not retry together
# A longer Retry-After is cut to this: the tries end after a day.
MAX_RETRY_AFTER = 3600.0  # seconds


def retry_delay(tries: int) -> float:
    base = RETRY_DELAYS[tries - 1]
    return random.uniform(base * (1 - JITTER), base * (1 + JITTER))  # noqa: S311 - not a secret


@dataclass(frozen=True, slots=True)
class ClaimedDelivery:
    """A delivery in flight, as `claim.sql` returns it."""

    delivery_id: UUID
    claims: int
    tries: int
    event_id: UUID
    kind: str
    at: datetime
    data: str  # JSON
    endpoint_id: UUID
    company_id: int
    url: str
    key_id: str
    generation: int
    previous_key_id: str  # empty unless the previous secret still signs
    older_secrets: str  # JSON: `Endpoint.older_secrets`
    is_callback: bool = False  # its URL is a message's own, not the endpoint's


@dataclass(frozen=True, slots=True)
class CallOutcome:
    claimed: ClaimedDelivery
    started_at: datetime
    duration_ms: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int | None = None
    response: str = ""  # the beginning of its body
    error: str = ""
    retry_after: float = 0.0  # seconds that the receiver asked for

    @property
    def is_accepted(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def is_last(self) -> bool:
        return self.claimed.tries > len(RETRY_DELAYS) or self.status == GONE

    @property
    def state(self) -> State:
        if self.is_accepted:
            return State.DELIVERED
        return State.FAILED if self.is_last else State.PENDING

    @property
    def due_in(self) -> float | None:
        """Seconds until the next try; None when final."""
        if self.state != State.PENDING:
            return None
        return max(retry_delay(self.claimed.tries), self.retry_after)


def body_of(event_id: UUID, kind: str, at: datetime, data: Any) -> bytes:
    """The request body, the same in every try. `data` is JSON text or the parsed value."""
    fields = orjson.loads(data) if isinstance(data, str) else data
    return orjson.dumps(
        {
            "id": public_id("evt", event_id),
            "type": kind,
            "timestamp": at.astimezone(UTC),
            "data": in_declared_order(kind, fields),
        },
        option=orjson.OPT_UTC_Z,
    )


def secrets_of(claimed: ClaimedDelivery) -> list[str]:
    """The secrets that sign the event, newest first."""
    older = signing.still_signing(orjson.loads(claimed.older_secrets), timezone.now())
    replaced = [
        (claimed.previous_key_id, claimed.generation - 1),
        *((key["key_id"], key["generation"]) for key in reversed(older)),
    ]
    current = signing.secret(claimed.endpoint_id, claimed.key_id, claimed.generation)
    return [current] + [
        signing.secret(claimed.endpoint_id, key_id, generation)
        for key_id, generation in replaced
        if key_id in settings.WEBHOOK_KEYS  # a removed key only ends the overlap early
    ]


def call(claimed: ClaimedDelivery) -> CallOutcome:
    """Calls the endpoint, on a pool thread, and returns the outcome; never raises."""
    started_at = timezone.now()
    started = time.monotonic()
    headers: dict[str, str] = {}
    status = None
    text = ""
    error = ""
    retry_after = 0.0
    try:
        body = body_of(claimed.event_id, claimed.kind, claimed.at, claimed.data)
        headers = _headers(claimed, body, started_at)
        response = egress.post(claimed.url, body, headers)
        status = response.status
        text = response.body
        if status in BUSY:
            wait = seconds_of_retry(response.retry_after, timezone.now()) or 0.0
            retry_after = min(wait, MAX_RETRY_AFTER)
    except egress.CallError as failure:
        error = failure.failure.value
    except Exception:  # our own bug: logged, and the delivery is retried
        log.exception("webhook_crashed", delivery=str(claimed.delivery_id))
        error = Failure.INTERNAL.value
    duration_ms = int((time.monotonic() - started) * 1000)
    return CallOutcome(claimed, started_at, duration_ms, headers, status, text, error, retry_after)


def _headers(claimed: ClaimedDelivery, body: bytes, at: datetime) -> dict[str, str]:
    event_id = public_id("evt", claimed.event_id)
    return {
        "Content-Type": "application/json",
        "User-Agent": "Kvitok/1 (callbacks)",
        **signing.headers(secrets_of(claimed), event_id, body, at),
    }
