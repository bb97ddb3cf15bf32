"""The chain of channels of a message: its steps, and the words for what becomes of them."""

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Step:
    """A channel to fall back to, its price when the message was accepted, and how long it gets."""

    channel: str
    price: int
    patience: float


class FallbackReason(StrEnum):
    """What its chain of channels made of a message, for those who read its timeline."""

    PATIENCE = "patience"  # no proof in time: went on
    REFUSED = "refused"  # not delivered there: went on
    TOKENS = "tokens"  # the next channel costs more than there is: goes no further
    BUDGET = "budget"  # it costs more than a budget has left: goes no further
    TIME = "time"  # too little of its use is left: goes no further
    LATE = "late"  # an earlier channel had delivered it: called off
    OWED = "owed"  # the same, but the next had it already: charged if that delivers too
    CODE_ENTERED = "code_entered"  # called off
    CLICK = "click"  # called off


@dataclass(frozen=True, slots=True)
class FallbackRequest:
    """To go on to the next channel of the chain; or else, refused, to end like this."""

    why: FallbackReason
    state: str = ""
    error: str = ""
