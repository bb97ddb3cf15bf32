"""The goals of smart routing and the guard in a world, measured over its seeds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from tools.replay.run import Recovery, Result, Tally
from tools.replay.world import DAY, SMS, Attack, World

REACHED_BY_MESSENGERS = 0.85  # from here on the price must be a quarter of that of SMS
RECOVERED_AFTER = 200, 600.0  # sends, seconds: the longer of both
RECOVERY_WINDOW = 500  # sends that are compared from then on
LOST_AT_MOST = 400  # tokens, to an attack that enters no code
LOST_SLOWLY_AT_MOST = 1600  # tokens a day, to a slow attack, or in all to one that enters codes


@dataclass(frozen=True, slots=True)
class Goal:
    name: str
    measured: float
    limit: float
    is_lower_bound: bool = False

    @property
    def is_held(self) -> bool:
        return self.measured >= self.limit if self.is_lower_bound else self.measured <= self.limit


def goals(world: World, results: Sequence[Result]) -> Iterator[Goal]:
    """Rates and prices over all seeds together, p95 as a median, attacks by their worst seed."""
    sms, baseline, ours, oracle = (
        [row.policies[name] for row in results] for name in ("sms", "baseline", "ours", "oracle")
    )
    if any(tally.verified for tally in sms):
        rate = _rate(ours)
        yield Goal("verified, share of sms", rate / _rate(sms), 0.99, is_lower_bound=True)
        worse = (_rate(baseline) - rate) * 100
        yield Goal("verified, points below baseline", worse, 0.3)
        yield Goal("tokens per verified, of oracle", _price(ours) / _price(oracle), 1.15)
        if _reached(world) >= REACHED_BY_MESSENGERS:
            yield Goal("tokens per verified, of sms", _price(ours) / _price(sms), 0.25)
        yield Goal("p95 of a correct code, of sms", _p95(ours) / _p95(sms), 1.2)
    for n in range(len(world.changes)):
        gap = _gap([row.recoveries[n] for row in results])
        if gap is not None:
            yield Goal(f"change {n}, points below oracle after recovery", gap, 1)
    for n, attack in enumerate(world.attacks):
        lost = max(row.attacks[n].tokens_lost for row in results)
        yield Goal(f"attack {n}, tokens lost", lost, _allowed(attack))
    honest = [row.honest for row in results]
    count = max(1, sum(row.sends for row in honest))
    yield Goal("honest refused, of 10,000", sum(h.refused for h in honest) * 10_000 / count, 1)
    challenged = sum(row.challenged for row in honest) * 1000 / count
    yield Goal("honest challenged, of 1,000", challenged, 1)


def line(goal: Goal) -> str:
    sign = "≥" if goal.is_lower_bound else "≤"
    outcome = "held" if goal.is_held else "MISSED"
    return f"  {outcome:7}{goal.name}: {goal.measured:.3g}, goal {sign} {goal.limit:g}"


def _allowed(attack: Attack) -> float:
    if attack.numbers == "slow":
        return LOST_SLOWLY_AT_MOST * max(1.0, attack.seconds / DAY)
    return LOST_SLOWLY_AT_MOST if attack.enters else LOST_AT_MOST


def _reached(world: World) -> float:
    """The share of people reached by a messenger that works throughout the run."""
    working = set(world.channels) - {SMS} - {change.channel for change in world.changes}
    return sum(part for channels, part in world.reach if channels & working)


def _gap(recoveries: Sequence[Recovery]) -> float | None:
    """Points of the verified rate below the oracle's, of the sends after the recovery."""
    ours = oracle = count = 0
    for row in recoveries:
        begin = RECOVERED_AFTER[0]
        while begin < len(row.seconds) and row.seconds[begin] < RECOVERED_AFTER[1]:
            begin += 1
        window = slice(begin, begin + RECOVERY_WINDOW)
        count += len(row.ours[window])
        ours += sum(row.ours[window])
        oracle += sum(row.oracle[window])
    return (oracle - ours) * 100 / count if count else None


def _rate(tallies: Sequence[Tally]) -> float:
    return sum(row.verified for row in tallies) / max(1, sum(row.sends for row in tallies))


def _price(tallies: Sequence[Tally]) -> float:
    return sum(row.tokens for row in tallies) / max(1, sum(row.verified for row in tallies))


def _p95(tallies: Sequence[Tally]) -> float:
    return median(row.quantile(0.95) or 0.0 for row in tallies)
