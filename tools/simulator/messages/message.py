"""A message that a vendor accepted, and its pending receipts."""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

RANK = {"sent": 0, "failed": 1, "delivered": 2, "read": 3}
DUPLICATE, SILENT = "+", "-"  # marks before an event in `pending`


@dataclass(slots=True, weakref_slot=True, eq=False)
class Message:
    channel: str
    provider: str
    provider_id: str
    phone: str
    text: str
    code: str | None
    links: list[str]
    ref: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)  # what the vendor needs for its receipts
    state: str = "sent"
    pending: list[str] = field(default_factory=list)
    at: float = field(default_factory=time.time)
    id: int = 0

    def suffers(self, fault: str) -> bool:
        return fault in self.extra.get("faults", ())

    def reach(self, state: str) -> bool:
        """States only rise; says whether this one did."""
        risen = RANK[state] > RANK[self.state]
        if risen:
            self.state = state
        return risen

    def shown(self) -> dict[str, Any]:
        return {
            "id": str(self.id),
            "channel": self.channel,
            "provider": self.provider,
            "text": self.text,
            "code": self.code,
            "links": self.links,
            "state": self.state,
            "at": iso(self.at),
        }


def iso(moment: float) -> str:
    at = datetime.fromtimestamp(moment, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
