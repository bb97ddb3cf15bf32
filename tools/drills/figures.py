"""The figures of a drill, and the promises that they keep or break."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.chaos.checks import select
from tools.chaos.external_records import rows
from tools.drills.scenarios import Scenario
from tools.queries import queries

_NEVER = float("inf")


@dataclass(frozen=True)
class Figures:
    accepted: int
    lost: int
    delivered: int
    expired: int  # with the sender told so, and uncharged: whether a call was made is not known
    charged_twice: int
    sent_twice: int
    repeated: int  # calls that a sender repeated with their key
    silence: float  # the longest time without an answer, in seconds
    first_delivery: float  # seconds from the loss
    deaths: Mapping[str, int]
    broken_checks: Sequence[str]

    def lines(self, scenario: Scenario) -> list[str]:
        silence, delivery = scenario.max_silence, scenario.max_delivery
        found = [
            ("sends accepted", self.accepted, ""),
            ("  lost", self.lost, "0"),
            ("  delivered", self.delivered, ""),
            ("  expired, and told so", self.expired, ""),
            ("charged twice", self.charged_twice, "0"),
            ("on a phone twice", self.sent_twice, "0"),
            ("repeated by their sender", self.repeated, ""),
            ("seconds without answers", f"{self.silence:.1f}", f"≤ {silence:.0f}"),
            ("seconds until the first delivery", f"{self.first_delivery:.1f}", f"≤ {delivery:.0f}"),
            ("processes that ended by themselves", sum(self.deaths.values()), "0"),
            ("checks broken", len(self.broken_checks), "0"),
        ]
        return [f"{name:<36}{value!s:>8}   {promise}".rstrip() for name, value, promise in found]

    def breaches(self, scenario: Scenario) -> list[str]:
        """The promises that are broken, as one line each."""
        found = [
            f"{getattr(self, name)} sends were {name.replace('_', ' ')}"
            for name in ("lost", "charged_twice", "sent_twice")
            if getattr(self, name)
        ]
        if self.silence > scenario.max_silence:
            found.append(f"no answer for {self.silence:.1f} s")
        if self.first_delivery > scenario.max_delivery:
            found.append(f"no delivery for {self.first_delivery:.1f} s")
        if not self.accepted:
            found.append("no send was accepted")
        return [*found, *self.deaths, *self.broken_checks]


def counts() -> dict[str, int]:
    return {
        name: int(select(one.text)[0][0]) for name, one in queries(__file__, "counts.sql").items()
    }


def times(journal: Path, simulator_log: Path, lost_at: float, ends_at: float) -> dict[str, float]:
    """`silence` and `first_delivery`; the moments are Unix seconds."""
    answers = [at for (at,) in rows(journal, "SELECT at FROM calls WHERE status = 200")]
    placed = dict(rows(journal, "SELECT phone, at FROM orders"))
    arrivals = rows(simulator_log, "SELECT '+' || phone, at FROM messages")
    return {
        "silence": longest_gap(answers, lost_at, ends_at),
        "first_delivery": first_arrival(arrivals, placed, lost_at) - lost_at,
    }


def longest_gap(moments: Iterable[float], begin: float, end: float) -> float:
    within = sorted(moment for moment in moments if begin < moment < end)
    return max(
        after - before for before, after in zip([begin, *within], [*within, end], strict=True)
    )


def first_arrival(
    arrivals: Iterable[tuple[str, float]], placed: Mapping[str, float], since: float
) -> float:
    """Of a message that was asked for since then; infinity if none arrived."""
    return min((at for phone, at in arrivals if placed.get(phone, 0.0) >= since), default=_NEVER)
