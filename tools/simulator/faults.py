"""Faults on demand, which sends they match and what they do, and outcomes by script.

A fault changes vendors' behaviour to sends in general; an outcome is the script of one number, so
that a drawn history of many people can be played. Faults do not apply to a number with an outcome.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import count
from typing import Any

from tools.simulator.channels import CHANNELS
from tools.simulator.messages import DUPLICATE, SILENT, digits, is_phone

REFUSALS = ("unreachable", "refuse", "account", "throttle")
SILENCES = ("hang", "reset")
LOST = "lost"  # never taken
SERVER_ERROR = "server_error"  # taken, but answered with a 502
RECEIPTS = (
    "no_receipt",
    "duplicate_receipt",
    "reorder_receipts",
    "late_receipt",
    "undelivered",
    "failed_after_delivered",
    "delivered_after_failed",
    "read_at_once",
    "batched_receipts",
    "held",
)
# Who opens the links of accepted messages.
PREVIEW = "link_preview"
SCAN = "link_scan"
VISITS = (PREVIEW, SCAN)
# Scripted outcomes only: the subscriber bars these messages; `sent` and then nothing.
BARRED = "barred"
RECEIPTS_END = "receipts_end"
# The states that the vendor tells in turn; some vendors contradict themselves.
REPORTED = {
    "undelivered": ["sent", "failed"],
    "failed_after_delivered": ["sent", "delivered", "failed"],
    "delivered_after_failed": ["sent", "failed", "delivered"],
    "read_at_once": ["sent", "read"],
    BARRED: ["sent", "failed"],
    RECEIPTS_END: ["sent"],
}
KINDS = (*REFUSALS, *SILENCES, LOST, SERVER_ERROR, *RECEIPTS, *VISITS)
# What befalls only a message that was taken, whatever was answered.
AFTERWARDS = (*RECEIPTS, *VISITS)
HANG_MS = 60_000
LATE_MS = 5_000


Route = tuple[str, str, str]  # a channel, a provider, a phone


@dataclass(slots=True)
class Fault:
    id: str
    channel: str | None = None
    provider: str | None = None
    phone: str | None = None
    kind: str | None = None  # None: nothing but latency
    latency_ms: int | None = None
    times: int | None = None  # sends left; None: until deleted

    def matches(self, route: Route) -> bool:
        route_of_fault = (self.channel, self.provider, self.phone)
        return all(
            expected in {None, its} for expected, its in zip(route_of_fault, route, strict=True)
        )

    def shown(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(slots=True)
class FaultPlan:
    """The combined effect of the faults on one send; times in seconds."""

    answer: str | None = None
    latency: float = 0.0
    hold: float = 0.0
    late: float = 0.0
    afterwards: set[str] = field(default_factory=set)
    arrival: float | None = None  # until the phone has it; only of scripted outcomes

    @property
    def is_taken(self) -> bool:
        return self.answer not in {*REFUSALS, LOST}

    def has_room(self, fault: Fault) -> bool:
        if fault.kind in AFTERWARDS:
            return self.is_taken
        return fault.kind is None or self.answer is None

    def add(self, fault: Fault) -> None:
        if fault.kind == "hang":
            self.answer, self.hold = "hang", _seconds(fault, HANG_MS)
        elif fault.kind == "late_receipt":
            self.late = max(self.late, _seconds(fault, LATE_MS))
        else:
            self.latency += _seconds(fault, 0)
            if fault.kind in AFTERWARDS:
                self.afterwards.add(fault.kind)
            elif fault.kind:
                self.answer = fault.kind

    def kinds(self) -> list[str]:
        """The faults that shaped this send, for the log."""
        late = ["late_receipt"] if self.late else []
        latency = ["latency"] if self.latency else []
        return [*([self.answer] if self.answer else []), *sorted(self.afterwards), *late, *latency]

    def events(self) -> list[str]:
        """The receipts to come, in order, as `Message.pending` holds them."""
        sequence = next(
            (REPORTED[kind] for kind in REPORTED if kind in self.afterwards), ["sent", "delivered"]
        )
        steps = list(sequence)
        if "batched_receipts" in self.afterwards:
            steps = steps[-1:]  # one call, in which the vendor may speak of what came before
        if "reorder_receipts" in self.afterwards:
            steps.reverse()
        if "no_receipt" in self.afterwards:
            return [SILENT + word for word in steps]
        if "duplicate_receipt" in self.afterwards:
            return [twin for word in steps for twin in (word, DUPLICATE + word)]
        return steps


class Faults:
    def __init__(self) -> None:
        self._faults: dict[str, Fault] = {}
        self._numbers = count(1)

    def __iter__(self) -> Iterator[Fault]:
        return iter(list(self._faults.values()))

    def add(self, fields: Mapping[str, Any]) -> Fault:
        fault = Fault(id=str(next(self._numbers)), **fields)
        self._faults[fault.id] = fault
        return fault

    def remove(self, number: str) -> bool:
        return self._faults.pop(number, None) is not None

    def clear(self) -> int:
        cleared = len(self._faults)
        self._faults.clear()
        return cleared

    def take(self, route: Route) -> FaultPlan:
        """Spend one time of every fault that shapes this send."""
        plan = FaultPlan()
        # Receipt faults apply only to accepted sends, so faults of the response come first.
        for fault in sorted(self, key=lambda fault: fault.kind in AFTERWARDS):
            if fault.matches(route) and plan.has_room(fault):
                plan.add(fault)
                self._spend(fault)
        return plan

    def _spend(self, fault: Fault) -> None:
        if fault.times is not None:
            fault.times -= 1
            if fault.times == 0:
                del self._faults[fault.id]


def _seconds(fault: Fault, default_ms: int) -> float:
    return (default_ms if fault.latency_ms is None else fault.latency_ms) / 1000


def read_fault(fields: object, providers: Collection[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """The fields of a request for a fault, and the errors in it, field by field."""
    if not isinstance(fields, dict):
        return {}, {"body": "must be a JSON object"}
    rules = _rules(providers)
    values = {name: value for name, value in fields.items() if value is not None}
    errors = {
        name: rules[name][1] if name in rules else f"unknown; allowed: {', '.join(rules)}"
        for name, value in values.items()
        if name not in rules or not rules[name][0](value)
    }
    if not errors and not values.keys() & {"kind", "latency_ms"}:
        errors["kind"] = f"{rules['kind'][1]}; may be left out only when latency_ms is given"
    if "phone" in values and "phone" not in errors:
        values["phone"] = digits(values["phone"])
    return values, errors


def _whole(value: object, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


Rule = tuple[Callable[[Any], bool], str]


def _rules(providers: Collection[str]) -> dict[str, Rule]:
    return {
        "channel": _one_of(CHANNELS),
        "provider": _one_of(providers),
        "phone": (is_phone, "must be a string with 7 to 15 digits, in any spelling"),
        "kind": _one_of(KINDS),
        "latency_ms": (
            lambda value: _whole(value, 0, 3_600_000),
            "must be a whole number of milliseconds from 0 to 3600000",
        ),
        "times": (
            lambda value: _whole(value, 1, 1_000_000_000),
            "must be a whole number from 1; left out, the fault stays until deleted",
        ),
    }


def _one_of(names: Collection[str]) -> Rule:
    return lambda value: value in names, f"must be one of {', '.join(names)}"


@dataclass(frozen=True, slots=True)
class Outcome:
    kind: str
    after: float = 0.0  # seconds until it happens

    def plan(self) -> FaultPlan:
        return OUTCOMES[self.kind](self.after)


# The first two reach the phone; of the second and of lost ones the vendor never hears again.
OUTCOMES: dict[str, Callable[[float], FaultPlan]] = {
    "delivered": lambda after: FaultPlan(late=after, arrival=after),
    "unproved": lambda after: FaultPlan(afterwards={RECEIPTS_END}, arrival=after),
    "lost": lambda _after: FaultPlan(afterwards={RECEIPTS_END}),
    "unreachable": lambda after: FaultPlan(answer="unreachable", latency=after),
    "barred": lambda after: FaultPlan(afterwards={BARRED}, late=after),
}

Key = tuple[str, str]  # a phone's digits, a channel


class Outcomes:
    def __init__(self) -> None:
        self._known: dict[Key, Outcome] = {}

    def add(self, outcomes: Mapping[Key, Outcome]) -> None:
        self._known |= outcomes

    def clear(self) -> int:
        cleared = len(self._known)
        self._known.clear()
        return cleared

    def plan(self, phone: str, channel: str) -> FaultPlan | None:
        outcome = self._known.get((phone, channel))
        return outcome.plan() if outcome else None


def read_outcomes(body: Any) -> tuple[dict[Key, Outcome], dict[str, str]]:
    """`{phone: {channel: {"outcome": …, "after_ms": …}}}`, or what is wrong with it."""
    try:
        outcomes = {
            (digits(phone), channel): Outcome(fields["outcome"], fields.get("after_ms", 0) / 1000)
            for phone, end in body.items()
            for channel, fields in end.items()
        }
    except (AttributeError, KeyError, TypeError):
        return {}, {"body": "must be an object of phones, channels, outcome and after_ms"}
    if unknown := {row.kind for row in outcomes.values()} - OUTCOMES.keys():
        return {}, {"outcome": f"{', '.join(map(str, unknown))}: no {', '.join(OUTCOMES)}"}
    return outcomes, {}
