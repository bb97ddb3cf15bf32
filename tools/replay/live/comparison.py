"""Both sides' figures, how far they are apart, and whether that is within what is allowed."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tools.replay.run import Tally, as_figures, price, rate
from tools.replay.timeline import Outcome, Send

RATE_ALLOWED = 0.02  # of all sends
TOKENS_ALLOWED = 0.05  # of the virtual replay's
DIGITS = 5


@dataclass(slots=True)
class Comparison:
    policy: str
    live: Tally
    virtual: Tally
    only_live: int = 0  # sends that verified there alone
    only_virtual: int = 0
    other_tokens: int = 0  # sends that cost something else
    apart: list[dict[str, Any]] = field(default_factory=list)  # these, as each side saw them

    @property
    def rate_difference(self) -> float:
        return round(rate(self.live) - rate(self.virtual), DIGITS)

    @property
    def tokens_difference(self) -> float:
        if not self.virtual.tokens:
            return math.inf if self.live.tokens else 0.0
        return round(self.live.tokens / self.virtual.tokens - 1, DIGITS)

    @property
    def agrees(self) -> bool:
        return (
            abs(self.rate_difference) <= RATE_ALLOWED
            and abs(self.tokens_difference) <= TOKENS_ALLOWED
        )

    def lines(self) -> Iterator[str]:
        for side, tally in (("live", self.live), ("virtual", self.virtual)):
            yield (
                f"  {self.policy:9}{side:11}{tally.sends:6}{rate(tally) * 100:9.2f}%"
                f"{tally.tokens:9}{price(tally):14.2f}"
                f"{tally.quantile(0.5) or 0:7.1f}{tally.quantile(0.95) or 0:7.1f}"
            )
        yield (
            f"  {'':9}{'difference':17}{self.rate_difference * 100:+9.2f} "
            f"{self.tokens_difference * 100:+8.1f}%   {'agrees' if self.agrees else 'DISAGREES'};"
            f" verified by one side alone {self.only_live} and {self.only_virtual},"
            f" other tokens {self.other_tokens}"
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "live": as_figures(self.live),
            "virtual": as_figures(self.virtual),
            "verified_difference": self.rate_difference,
            "tokens_difference": self.tokens_difference,
            "only_live": self.only_live,
            "only_virtual": self.only_virtual,
            "other_tokens": self.other_tokens,
            "agrees": self.agrees,
            "apart": self.apart,
        }


HEADER = "  policy   side        sends  verified   tokens  per verified    p50    p95"


def compared(
    policy: str, sends: Sequence[Send], live: Sequence[Outcome], virtual: Sequence[Outcome]
) -> Comparison:
    """Of the honest sends; attackers' are played and not counted."""
    found = Comparison(policy, Tally(), Tally())
    for send, ours, theirs in zip(sends, live, virtual, strict=True):
        if send.attack is not None:
            continue
        found.live.add(send.at, ours)
        found.virtual.add(send.at, theirs)
        entered = ours.verified < math.inf, theirs.verified < math.inf
        found.only_live += entered == (True, False)
        found.only_virtual += entered == (False, True)
        found.other_tokens += ours.tokens != theirs.tokens
        if entered[0] != entered[1] or ours.tokens != theirs.tokens:
            phone = send.person.phone
            found.apart.append({"phone": phone, "live": _story(ours), "virtual": _story(theirs)})
    return found


def _story(outcome: Outcome) -> dict[str, Any]:
    verified = round(outcome.verified, 2) if outcome.verified < math.inf else None
    steps = [[step.channel, round(step.start, 1)] for step in outcome.steps]
    return {"steps": steps, "verified": verified, "tokens": outcome.tokens}


@dataclass(slots=True)
class LiveResult:
    world: str
    seed: int
    comparisons: list[Comparison]
    held_out: int
    learned: int  # times that the service learned meanwhile
    answered: float  # seconds until the API answered a send, of 95 of 100
    unexpected: Counter[str]  # answers to sends and to right codes, by their code
    complaints: Mapping[str, Sequence[str]] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def agrees(self) -> bool:
        return all(one.agrees for one in self.comparisons)

    def lines(self) -> Iterator[str]:
        yield f"{self.world}, seed {self.seed}, live in {self.seconds:.0f} s"
        yield HEADER
        for one in self.comparisons:
            yield from one.lines()
        yield (
            f"  {self.held_out} sends of ours were held out; the service learned {self.learned}"
            f" times; 95 % of sends were answered within {self.answered:.2f} s"
        )
        for code, many in sorted(self.unexpected.items()):
            yield f"  {many} times the API answered {code}"
        for program, found in self.complaints.items():
            yield f"  {program} logged {len(found)} errors, the first: {found[0]}"
        yield f"  live and virtual {'agree' if self.agrees else 'DISAGREE'}"

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.world,
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "policies": {one.policy: one.as_json() for one in self.comparisons},
            "held_out": self.held_out,
            "learned": self.learned,
            "answered_p95": round(self.answered, 3),
            "unexpected": dict(self.unexpected),
            "complaints": {program: len(found) for program, found in self.complaints.items()},
            "agrees": self.agrees,
        }
