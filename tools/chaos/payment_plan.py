"""The top-ups of a run, and which of their credits are struck by a kill."""

import random
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

PAYMENTS, SHORT_PAYMENTS = 40, 20
GATEWAYS = ("stripe", "yookassa", "tbank", "invoice")
_NOTICES = ("before_redirect", "after_redirect", "twice", "late")


class CreditLock(StrEnum):
    """What a credit waits for while the processes around it are killed."""

    GATEWAY = "gateway"
    ORDER = "order"
    WALLET = "wallet"


@dataclass(frozen=True)
class PlannedPayment:
    """A top-up that is paid. `lock`: once its credit waits there, web and workers are killed."""

    at: float
    gateway: str
    tokens: int
    key: str
    how: str  # the simulator's word for how the service hears of it
    lock: CreditLock | None = None
    pause: float = 0.0  # till the killed are back


def make(
    dice: random.Random, seconds: float, strikes: list[float], *, is_short: bool
) -> list[PlannedPayment]:
    """Each way to pay as often as any other; the first ones are struck."""
    many = SHORT_PAYMENTS if is_short else PAYMENTS
    moments = [dice.uniform(0, 0.9 * seconds) for _ in range(many - len(strikes))]
    locks = list(CreditLock)
    first, turn = dice.randrange(len(GATEWAYS)), dice.randrange(len(locks))
    planned: list[tuple[float, CreditLock | None]] = [
        (at, locks[(turn + n) % len(locks)]) for n, at in enumerate(strikes)
    ]
    planned += [(at, None) for at in moments]
    found = [
        PlannedPayment(
            at=at,
            gateway=GATEWAYS[(first + n) % len(GATEWAYS)],
            tokens=1_000 + n,
            key=str(UUID(int=dice.getrandbits(128), version=4)),
            how="before_redirect" if lock else dice.choice(_NOTICES),
            lock=lock,
            pause=dice.uniform(0.1, 1.0) if lock else 0.0,
        )
        for n, (at, lock) in enumerate(planned)
    ]
    return sorted(found, key=lambda payment: payment.at)
