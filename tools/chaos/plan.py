"""The plan of a run: requests, top-ups, kills and their times, all drawn from the seed.

Times are seconds from the start of the load.
"""

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeVar
from uuid import UUID, uuid4

PRICES = {"whatsapp": 1, "telegram": 1, "sms": 16}
INVOICE = "invoice"
GATEWAYS = ("stripe", "yookassa", "tbank", INVOICE)
PAYMENTS = 40
SHORT_PAYMENTS = 20


@dataclass(frozen=True)
class Options:
    seed: int
    sends: int
    kills: int
    flush: bool
    short: bool
    keep: bool = False
    months: bool = False  # archive old months in the meantime, and begin a new one
    smart: bool = False  # smart routing for companies that fall back
    payments: bool = False  # also top-ups, with kills between webhook and credit

    @property
    def speed(self) -> "Speed":
        return SHORT if self.short else FULL


@dataclass(frozen=True)
class Speed:
    """Durations. The short form ages rows instead of waiting."""

    code_lifetime: int = 125
    hold_deadline: int = 145
    lease: int = 9
    send_wait: float = 3.0
    connect: float = 1.0
    read: float = 2.0
    late: tuple[float, float] = (1.0, 8.0)  # seconds until late receipts
    held: float = 12.0  # seconds that a half-open connection lasts
    sends_a_second: float = 45.0
    kill_gap: float = 5.0
    patience: int = 6  # seconds per channel, for companies that fall back
    repeats: bool = True  # the run lasts long enough for codes to be requested again


FULL = Speed()
SHORT = Speed(
    late=(0.5, 3.0), held=3.0, sends_a_second=22.0, kill_gap=2.5, patience=3, repeats=False
)


class UserBehaviour(StrEnum):
    """A user's way of entering a code."""

    CORRECT = "correct"
    WRONG_FIRST = "wrong_first"
    PARALLEL = "parallel"  # the correct code from two threads at once
    INSTANT = "instant"  # before the vendor can report delivery
    GUESSER = "guesser"  # five wrong codes, then the correct one


class Target(StrEnum):
    POSTGRES = "postgres"
    REDIS_LOST = "redis, data lost"
    REDIS_KEPT = "redis, data kept"
    WORKER = "worker"
    WEB = "web"
    WEB_CHILD = "web, one process"
    BEAT = "beat"


class Disruption(StrEnum):
    """A disruption of a process other than a kill."""

    ZOMBIE = "worker stopped past its lease"
    TERM_WORKER = "worker asked to stop"
    TERM_WEB = "web asked to stop"


class CreditLock(StrEnum):
    """The lock that a credit waits for while the processes around it are killed."""

    GATEWAY = "gateway"
    ORDER = "order"
    WALLET = "wallet"


# Repeated for as many kills as requested; the first six cover everything but beat.
KILL_ORDER = (
    *(Target.POSTGRES, Target.WORKER, Target.WEB, Target.REDIS_LOST, Target.WEB_CHILD),
    *(Target.REDIS_KEPT, Target.WORKER, Target.BEAT, Target.WEB, Target.WORKER),
)


@dataclass(frozen=True)
class PlannedRequest:
    n: int
    at: float
    company: int
    kind: str  # code, code_link or link
    channel: str | None
    phone: str
    key: str
    twin: bool = False  # sent from two threads at once
    person: UserBehaviour | None = None
    delay: float = 0.0  # seconds until the person acts
    wrong: int = 0  # guesses before the correct one
    keyed: bool = False  # verified under an Idempotency-Key
    reads: bool = False  # the person opens the message: a read receipt
    fault: str | None = None  # the vendor's fault for this message
    fault_ms: int | None = None
    again_at: float | None = None  # when the code is requested again

    @property
    def sent_by(self) -> str:
        return self.channel or "whatsapp"

    @property
    def has_receipts(self) -> bool:
        return self.sent_by != "telegram" or self.kind == "code"

    @property
    def is_pollable(self) -> bool:
        return self.has_receipts and self.sent_by in {"telegram", "sms"}


FIRST_PHONE = 79_260_000_000


def steady(n: int, rate: float, **fields: Any) -> PlannedRequest:
    """The n-th request at a steady rate, to its own phone."""
    phone, key = f"+{FIRST_PHONE + n}", str(uuid4())
    return PlannedRequest(n, n / rate, phone=phone, key=key, **fields)


@dataclass(frozen=True)
class PlannedPayment:
    """A top-up that is paid. With `lock`, web and workers die once its credit waits there."""

    at: float
    gateway: str
    tokens: int
    key: str
    how: str  # the simulator's name for the way in which the service is notified
    lock: CreditLock | None = None
    pause: float = 0.0  # seconds until the killed programs restart


@dataclass(frozen=True)
class PlannedFault:
    """One fault of a process; `share` picks one of several, which restarts after `pause`."""

    at: float
    what: Target | Disruption
    share: float
    pause: float
    aimed: bool  # wait until a vendor is being called


@dataclass(frozen=True)
class Plan:
    seconds: float
    tokens: list[int]  # of each company
    orders: list[PlannedRequest]
    planned_faults: list[PlannedFault] = field(default_factory=list)
    second_worker_until: float = 0.0
    payments: list[PlannedPayment] = field(default_factory=list)

    @property
    def sends(self) -> int:
        return len(self.orders) + sum(order.again_at is not None for order in self.orders)


COMPANIES = [0.5, 0.14, 0.13, 0.13, 0.1]  # shares of orders; the last company runs out of tokens
POOR = 4
SOLVENCY = 0.4
# Fallback chains of companies, which mostly name no channel; a send starts with the first one.
CHAINS = {1: ["whatsapp", "telegram", "sms"], 2: ["whatsapp", "sms"], POOR: ["whatsapp", "sms"]}
_UNNAMED = 0.6
_KINDS = {"code": 0.65, "code_link": 0.12, "link": 0.23}
_CHANNELS = {"whatsapp": 0.4, "telegram": 0.25, "sms": 0.25}  # otherwise none is named
_PEOPLE = {
    UserBehaviour.CORRECT: 0.22,
    UserBehaviour.WRONG_FIRST: 0.14,
    UserBehaviour.PARALLEL: 0.13,
    UserBehaviour.INSTANT: 0.09,
    UserBehaviour.GUESSER: 0.03,
}
_ANSWERS = {"throttle": 0.015, "unreachable": 0.01, "refuse": 0.007, "hang": 0.01, "reset": 0.01}
_RECEIPTS = {
    "duplicate_receipt": 0.03,
    "reorder_receipts": 0.02,
    "late_receipt": 0.03,
    "undelivered": 0.015,
    "failed_after_delivered": 0.01,
    "delivered_after_failed": 0.01,
}
_LOST = {"no_receipt": 0.03}  # only for vendors that are polled; WhatsApp repeats for days
_WEBHOOKS = ("before_redirect", "after_redirect", "twice", "late")
_TWINS = 0.06
_READS = 0.1
_AGAIN = 0.12
_KEYED = 0.5
_COOL_DOWN = 61.5  # seconds after which the same phone may be sent another code
_BURST = 0.25  # share of the orders that come in bursts

T = TypeVar("T")


def make(options: Options) -> Plan:
    speed, kills = options.speed, options.kills
    shortest = 1.8 * speed.lease if kills else 1.0
    seconds = max(options.sends / speed.sends_a_second, kills * speed.kill_gap, shortest)
    faults = _faults(_dice(options, "faults"), kills, seconds, speed)
    orders = _requests(_dice(options, "orders"), options.sends, seconds, speed, faults)
    payments: list[PlannedPayment] = []
    if options.payments:
        faults, credit_kills = _aimed_at_credits(faults)
        count = SHORT_PAYMENTS if options.short else PAYMENTS
        payments = _payments(_dice(options, "payments"), count, seconds, credit_kills)
    return Plan(seconds, _tokens(orders), orders, faults, 0.75 * seconds, payments)


def _aimed_at_credits(faults: list[PlannedFault]) -> tuple[list[PlannedFault], list[float]]:
    """Takes out pairs of kills of web and worker; the web kills' times become those of credits."""
    webs, workers = (
        [fault for fault in faults if fault.what is target]
        for target in (Target.WEB, Target.WORKER)
    )
    pairs = list(zip(webs, workers, strict=False))
    paired = [fault for pair in pairs for fault in pair]
    return [fault for fault in faults if fault not in paired], [web.at for web, _ in pairs]


def _dice(options: Options, purpose: str) -> random.Random:
    return random.Random(f"{options.seed}:{purpose}")  # noqa: S311 - to be drawn again


def _requests(
    dice: random.Random, count: int, seconds: float, speed: Speed, faults: list[PlannedFault]
) -> list[PlannedRequest]:
    first = dice.randrange(1_000_000)
    # Bursts at aimed faults, so that they meet a busy worker.
    bursts = [fault.at for fault in faults if fault.aimed]
    bursts += [dice.uniform(0, seconds) for _ in range(1 + count // 200)]
    orders = []
    for n in range(count):
        at = dice.choice(bursts) if dice.random() < _BURST else dice.uniform(0, seconds)
        orders.append(_request(dice, n, at, f"+7926{first + n:07d}", speed, until=seconds))
    return sorted(orders, key=lambda order: order.at)


def _request(
    dice: random.Random, n: int, at: float, phone: str, speed: Speed, *, until: float
) -> PlannedRequest:
    order = PlannedRequest(
        n=n,
        at=at,
        company=dice.choices(range(len(COMPANIES)), COMPANIES)[0],
        kind=_pick(dice, _KINDS) or "code",
        channel=_pick(dice, _CHANNELS),
        phone=phone,
        key=_key(dice),
        twin=dice.random() < _TWINS,
        keyed=dice.random() < _KEYED,
    )
    if order.company in CHAINS and dice.random() < _UNNAMED:
        order = replace(order, channel=None)
    receipts = _RECEIPTS if order.has_receipts else {}
    fault = _pick(dice, _ANSWERS | receipts | (_LOST if order.is_pollable else {}))
    order = replace(order, fault=fault, fault_ms=_fault_ms(dice, fault, speed))
    if order.has_receipts and order.sent_by != "sms":
        order = replace(order, reads=dice.random() < _READS)
    if order.kind == "link":
        return order
    can_repeat = speed.repeats and order.kind == "code" and at + _COOL_DOWN < until
    is_asked_again = dice.random() < _AGAIN and can_repeat
    return replace(_with_users(dice, order), again_at=at + _COOL_DOWN if is_asked_again else None)


def _with_users(dice: random.Random, order: PlannedRequest) -> PlannedRequest:
    person = _pick(dice, _PEOPLE)
    wrong = {UserBehaviour.WRONG_FIRST: dice.randint(1, 3), UserBehaviour.GUESSER: 5}
    delay = 0.0 if person is UserBehaviour.INSTANT else dice.uniform(0.1, 3.0)
    return replace(order, person=person, delay=delay, wrong=wrong.get(person, 0) if person else 0)


def _fault_ms(dice: random.Random, fault: str | None, speed: Speed) -> int | None:
    if fault == "late_receipt":
        return int(1000 * dice.uniform(*speed.late))
    return int(1000 * (speed.read + 0.5)) if fault == "hang" else None


def _payments(
    dice: random.Random, count: int, seconds: float, credit_kills: list[float]
) -> list[PlannedPayment]:
    """Payments by all gateways equally often; the first ones meet a kill at their credit."""
    moments = [dice.uniform(0, 0.9 * seconds) for _ in range(count - len(credit_kills))]
    locks = list(CreditLock)
    first, turn = dice.randrange(len(GATEWAYS)), dice.randrange(len(locks))
    planned: list[tuple[float, CreditLock | None]] = [
        (at, locks[(turn + n) % len(locks)]) for n, at in enumerate(credit_kills)
    ]
    planned += [(at, None) for at in moments]
    planned_payments = [
        PlannedPayment(
            at=at,
            gateway=GATEWAYS[(first + n) % len(GATEWAYS)],
            tokens=1_000 + n,
            key=_key(dice),
            how="before_redirect" if lock else dice.choice(_WEBHOOKS),
            lock=lock,
            pause=dice.uniform(0.1, 1.0) if lock else 0.0,
        )
        for n, (at, lock) in enumerate(planned)
    ]
    return sorted(planned_payments, key=lambda payment: payment.at)


def _tokens(orders: list[PlannedRequest]) -> list[int]:
    spent: Counter[int] = Counter()
    for order in orders:
        spent[order.company] += PRICES[order.sent_by]
        if order.company != POOR and order.channel is None and order.company in CHAINS:
            spent[order.company] += PRICES["sms"]
    plenty = [2 * spent[number] + 100 for number in range(len(COMPANIES))]
    plenty[POOR] = max(1, int(SOLVENCY * spent[POOR]))
    return plenty


def _faults(dice: random.Random, kills: int, seconds: float, speed: Speed) -> list[PlannedFault]:
    targets = [KILL_ORDER[number % len(KILL_ORDER)] for number in range(kills)]
    dice.shuffle(targets)
    slot = 0.92 * seconds / max(1, kills)
    faults = [
        _fault(dice, 0.04 * seconds + slot * (number + dice.uniform(0.1, 0.9)), target)
        for number, target in enumerate(targets)
    ]
    if kills:
        faults += _disruptions(dice, kills, seconds, speed)
    return sorted(faults, key=lambda fault: fault.at)


def _disruptions(
    dice: random.Random, kills: int, seconds: float, speed: Speed
) -> list[PlannedFault]:
    # Longer than the lease plus the time that a call may take within it.
    stopped = [speed.lease + dice.uniform(0.5, 2.0) for _ in range(max(1, kills // 10))]
    latest = max(1.0, 0.72 * seconds - max(stopped))
    zombies = [
        PlannedFault(
            dice.uniform(0.05, 1.0) * latest, Disruption.ZOMBIE, dice.random(), pause, aimed=True
        )
        for pause in stopped
    ]
    targets = [Disruption.TERM_WORKER, Disruption.TERM_WEB] * (kills // 10)
    # A short run has time for only one.
    targets = targets or [dice.choice([Disruption.TERM_WORKER, Disruption.TERM_WEB])]
    return zombies + [_fault(dice, dice.uniform(0.1, 0.9) * seconds, what) for what in targets]


def _fault(dice: random.Random, at: float, target: Target | Disruption) -> PlannedFault:
    aimed = target is Target.WORKER and dice.random() < 0.8
    return PlannedFault(at, target, dice.random(), dice.uniform(0.1, 1.5), aimed)


def _key(dice: random.Random) -> str:
    return str(UUID(int=dice.getrandbits(128), version=4))


def _pick(dice: random.Random, rates: Mapping[T, float]) -> T | None:
    """Picks a name by its share; None for the remainder if the shares add up to less than one."""
    drawn = dice.random()
    for name, rate in rates.items():
        drawn -= rate
        if drawn < 0:
            return name
    return None
