"""The providers of test keys: no vendor, no network; the number's last digits script the result."""

import time
from collections.abc import Iterable
from datetime import UTC, datetime

from channels.providers.base import (
    Accepted,
    Capabilities,
    Content,
    Outgoing,
    Provider,
    RefusedError,
    ThrottledError,
    UnreachableError,
)
from channels.providers.inbound import Receipt, ReceiptState

UNREACHABLE = "0003"
LATE = "0006"
NEVER = "0007"
REFUSED = "0008"
FALLS_BACK = "0009"
QUEUED = "0010"
LATE_SECONDS = 30
QUEUED_SECONDS = 30


class ScriptedProvider(Provider):
    """Scripts the outcomes of one channel's test messages."""

    name = "test"

    def __init__(self, channel: str, contents: Iterable[str] = Content) -> None:
        self.channel = channel
        carried = frozenset(map(Content, contents))
        self.capabilities = Capabilities(carried, receipts=True, pollable=True)

    def send(self, message: Outgoing) -> Accepted:
        script = message.phone[-4:]
        if script == UNREACHABLE:
            raise UnreachableError("test_unreachable", "scripted by the number's last digits")
        if script == QUEUED and message.n == 1:
            raise ThrottledError(
                "test_throttled", "scripted by the number's last digits", retry_after=QUEUED_SECONDS
            )
        if script == REFUSED:
            raise RefusedError("test_refused", "scripted by the number's last digits")
        if script == FALLS_BACK and message.n == 1:
            raise UnreachableError("test_fallback", "scripted by the number's last digits")
        return Accepted(f"test-{script}-{int(time.time())}-{message.ref}")

    def is_proved_by(self, message: Outgoing) -> bool:
        return message.phone[-4:] not in (LATE, NEVER)

    def poll(self, provider_id: str) -> Receipt | None:
        """Reads the acceptance time and the script from the id."""
        _, script, accepted_at, ref = provider_id.split("-", 3)
        delivered_at = int(accepted_at) + (LATE_SECONDS if script == LATE else 0)
        if script == NEVER or time.time() < delivered_at:
            return None
        return Receipt(
            provider_id=provider_id,
            ref=ref,
            state=ReceiptState.DELIVERED,
            vendor_status="delivered",
            at=datetime.fromtimestamp(delivered_at, UTC),
        )
