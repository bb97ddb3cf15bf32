"""Worlds in which one uncertain number is halved or doubled, and all others are unchanged.

A goal that is met in the world itself but not in one of these depends on that number.
"""

import copy
import math
from collections.abc import Callable, Iterator
from operator import mul
from typing import Any

from tools.replay.world import SMS, complete

FACTORS = (0.5, 2.0)
MAX_SHARE = 0.98  # of a share that is doubled
Given = dict[str, Any]


def variants(description: Given) -> Iterator[tuple[str, Given]]:
    """The name of each, such as `SMS lost ×2`, and the world as JSON; like ones are left out."""
    world = complete(description)
    for name, (part, key, change) in PARAMETERS.items():
        for factor in FACTORS:
            changed = copy.deepcopy(world)
            for target in _places(changed, part):
                if key in target:
                    target[key] = change(target[key], factor)
            if changed != world:
                yield f"{name} ×{factor:g}", changed


def _places(world: Given, part: str) -> list[Given]:
    if part in {"messengers", SMS}:
        return [how for name, how in _behaviours(world) if (name == SMS) is (part == SMS)]
    if part == "people":
        return [world["people"]]
    return [world] if part == "world" else world.get(part) or []


def _behaviours(world: Given) -> Iterator[tuple[str, Given]]:
    """Behaviours of channels, accounts and ranges; those under `changes` are the test itself."""
    yield from world["channels"].items()
    for name, accounts in world.get("accounts", {}).items():
        yield from ((name, account) for account in accounts)
    for country in world.get("countries", []):
        for number_range in country.get("ranges", []):
            yield from ((k, v) for k, v in number_range.items() if k not in {"prefix", "share"})


def _share(value: float, factor: float) -> float:
    return min(max(MAX_SHARE, value), value * factor)


def _rest(value: float, factor: float) -> float:
    """Scales the remainder of a share."""
    return 1 - _share(1 - value, factor)


def _median(value: Given, factor: float) -> Given:
    return {**value, "median": value["median"] * factor}


def _spread(value: Given, factor: float) -> Given:
    """The latency with its variance on a logarithmic scale multiplied by `factor`."""
    return {**value, "sigma": value["sigma"] * math.sqrt(factor)}


def _out_of_reach(reach: list[Given], factor: float) -> list[Given]:
    """Scales the share of people whom no messenger reaches."""
    unreachable = sum(row["share"] for row in reach if not row["channels"])
    if not 0 < unreachable < 1:
        return reach
    target = _share(unreachable, factor)
    scales = {True: (1 - target) / (1 - unreachable), False: target / unreachable}
    return [{**row, "share": row["share"] * scales[bool(row["channels"])]} for row in reach]


# The section, the key, and the function that halves or doubles the value.
PARAMETERS: dict[str, tuple[str, str, Callable[[Any, float], Any]]] = {
    "latency of messengers": ("messengers", "latency", _median),
    "latency of SMS": (SMS, "latency", _median),
    "spread of messengers' latency": ("messengers", "latency", _spread),
    "spread of SMS latency": (SMS, "latency", _spread),
    "messengers lost": ("messengers", "lost", _share),
    "SMS lost": (SMS, "lost", _share),
    "refusals of messengers": ("messengers", "tells_unreachable", _share),
    "refusals of SMS": (SMS, "tells_unreachable", _share),
    "missing receipts of messengers": ("messengers", "receipts", _rest),
    "missing receipts of SMS": (SMS, "receipts", _rest),
    "people out of messengers' reach": ("world", "reach", _out_of_reach),
    "returning people": ("people", "returning", _share),
    "wrong numbers": ("people", "wrong_number", _share),
    "people who bar SMS": ("people", "bars_sms", _share),
    "wrong codes": ("people", "enters_wrong", _share),
    "time until people give up": ("people", "gives_up", _median),
    "time to type": ("people", "typing", _median),
    "sends a day": ("world", "sends_per_day", mul),
    "rate of attacks": ("attacks", "per_hour", mul),
    "codes that attackers enter": ("attacks", "enters", _share),
    "height of surges": ("surges", "times", mul),
}
