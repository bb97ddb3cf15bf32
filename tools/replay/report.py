"""The figures of a world, as lines and as JSON."""

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from tools.replay.run import POLICIES, Result, Tally


def table(results: Sequence[Result]) -> Iterator[str]:
    """Medians over the seeds."""
    yield f"{results[0].world}, {len(results)} seeds"
    yield "  policy     sends  verified   tokens  per verified    p50    p95"
    for name in POLICIES:
        tallies = [one.policies[name] for one in results]
        yield (
            f"  {name:9}{_middle(t.sends for t in tallies):7.0f}"
            f"{_middle(rate(t) * 100 for t in tallies):9.2f}%"
            f"{_middle(t.tokens for t in tallies):9.0f}"
            f"{_middle(price(t) for t in tallies):14.2f}"
            f"{_middle(t.quantile(0.5) or 0 for t in tallies):7.1f}"
            f"{_middle(t.quantile(0.95) or 0 for t in tallies):7.1f}"
        )
    days = ", ".join(f"{one:.2f}" for one in regret(results))
    yield f"  regret by day, tokens per verified above oracle: {days}"
    for n in range(len(results[0].attacks)):
        of_seeds = [one.attacks[n] for one in results]
        stopped = [a.sends_until_stopped for a in of_seeds if a.sends_until_stopped is not None]
        seconds = [a.seconds_until_stopped for a in of_seeds if a.seconds_until_stopped is not None]
        yield (
            f"  attack {n}: tokens lost at most {max(a.tokens_lost for a in of_seeds)}"
            f" of {max(a.sends for a in of_seeds)} sends; stopped after "
            + (f"{max(stopped)} sends, {max(seconds):.0f} s" if stopped else "no send")
            + ("" if len(stopped) == len(of_seeds) else f"; NOT in {len(of_seeds) - len(stopped)}")
        )
        if alike := sum(a.alike for a in of_seeds):
            yield f"  attack {n}: {alike} honest sends meanwhile that look like it"
    honest = [one.honest for one in results]
    yield (
        f"  honest: {sum(h.sends for h in honest)} sends, {sum(h.refused for h in honest)} refused,"
        f" {sum(h.challenged for h in honest)} challenged,"
        f" {sum(h.cheap_only for h in honest)} held to cheap channels"
    )


def as_json(results: Sequence[Result]) -> dict[str, Any]:
    return {"worlds": [_entry(one) for one in results]}


def _entry(result: Result) -> dict[str, Any]:
    return {
        "name": result.world,
        "seed": result.seed,
        "policies": {name: as_figures(tally) for name, tally in result.policies.items()},
        "attacks": [
            {
                "tokens_lost": one.tokens_lost,
                "sends_until_stopped": one.sends_until_stopped,
                "seconds_until_stopped": one.seconds_until_stopped,
                "honest_alike": one.alike,
            }
            for one in result.attacks
        ],
        "honest": {
            "sends": result.honest.sends,
            "refused": result.honest.refused,
            "challenged": result.honest.challenged,
            "cheap_only": result.honest.cheap_only,
        },
    }


def as_figures(tally: Tally) -> dict[str, Any]:
    return {
        "sends": tally.sends,
        "verified": tally.verified,
        "tokens": tally.tokens,
        "p50": tally.quantile(0.5),
        "p95": tally.quantile(0.95),
    }


def regret(results: Sequence[Result]) -> Iterator[float]:
    """By day, tokens per verified person above the oracle's; the median over the seeds."""
    for day in sorted(results[0].policies["oracle"].tokens_by_day):
        yield _middle(
            _day_price(one.policies["ours"], day) - _day_price(one.policies["oracle"], day)
            for one in results
        )


def _day_price(tally: Tally, day: int) -> float:
    tokens, verified = tally.tokens_by_day.get(day, [0, 0])
    return tokens / verified if verified else 0.0


def rate(tally: Tally) -> float:
    return tally.verified / tally.sends if tally.sends else 0.0


def price(tally: Tally) -> float:
    return tally.tokens / tally.verified if tally.verified else 0.0


def _middle(values: Any) -> float:
    return float(median(values))
