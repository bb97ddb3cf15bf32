"""What a live run found, as lines and as JSON."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tools.replay.live.comparison import HEADER, Comparison


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
