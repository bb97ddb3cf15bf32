"""The fallback chain of a message: its steps, requests to advance, and reasons."""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Step:
    """A channel to fall back to: its price at acceptance, and its patience in seconds."""

    channel: str
    price: int
    patience: float


class FallbackReason(StrEnum):
    """Why a message fell back, stopped, or cancelled its fallback; shown in its timeline."""

    # Switched to the next channel:
    PATIENCE = "patience"  # no proof in time
    REFUSED = "refused"  # not delivered by the last channel
    # Stopped at the current channel:
    TOKENS = "tokens"  # the balance cannot pay for the next channel
    BUDGET = "budget"  # a budget cannot pay for it
    TIME = "time"  # too little useful time left
    # Cancelled the next channel:
    LATE = "late"  # an earlier channel delivered
    CODE_ENTERED = "code_entered"
    CLICK = "click"
    # Kept it: an earlier channel delivered, but the next vendor already has the message.
    OWED = "owed"  # charged if that delivers too


@dataclass(frozen=True, slots=True)
class FallbackRequest:
    """Asks for the next channel; if the wallet rejects it, a failed message ends as given."""

    reason: FallbackReason
    state: str = ""
    error: str = ""
