"""Worlds with one uncertain number at half or at twice, all others as they are.

A goal that holds in the world itself and not in one of these rests on that number.
"""

import copy
import math
from collections.abc import Callable, Iterator
from typing import Any

from tools.replay.world import DEFAULTS, MESSENGER, PEOPLE, SMS, TEXT

FACTORS = (0.5, 2.0)
MOST = 0.98  # of a share that is doubled
Given = dict[str, Any]
Scale = Callable[[Given, float], None]


def variants(given: Given) -> Iterator[tuple[str, Given]]:
    """The name of each, such as `SMS lost ×2`, and the world as JSON; like ones are left out."""
    complete = _complete(given)
    for name, scale in PARAMETERS.items():
        for factor in FACTORS:
            changed = copy.deepcopy(complete)
            scale(changed, factor)
            if changed != complete:
                yield f"{name} ×{factor:g}", changed


def _complete(given: Given) -> Given:
    """With the defaults written out, as they are as uncertain as what the file says."""
    world = copy.deepcopy({**DEFAULTS, **given})
    world["people"] = {**copy.deepcopy(PEOPLE), **world.get("people", {})}
    channels = world.get("channels", {"whatsapp": {}, "telegram": {}})
    world["channels"] = {
        name: {**copy.deepcopy(TEXT if name == SMS else MESSENGER), **channels.get(name, {})}
        for name in {**channels, SMS: {}}
    }
    return world


def _of_channels(key: str, change: Callable[[Any, float], Any], *, sms: bool) -> Scale:
    def scale(world: Given, factor: float) -> None:
        for name, behaviour in _behaviours(world):
            if (name == SMS) is sms and key in behaviour:
                behaviour[key] = change(behaviour[key], factor)

    return scale


def _behaviours(world: Given) -> Iterator[tuple[str, Given]]:
    """Of channels in general, of accounts and of ranges; what `changes` set is the test itself."""
    yield from world["channels"].items()
    for name, accounts in world.get("accounts", {}).items():
        yield from ((name, account) for account in accounts)
    for country in world.get("countries", []):
        for place in country.get("ranges", []):
            own = {key: one for key, one in place.items() if key not in {"prefix", "share"}}
            yield from own.items()


def _of_people(key: str, change: Callable[[Any, float], Any]) -> Scale:
    def scale(world: Given, factor: float) -> None:
        world["people"][key] = change(world["people"][key], factor)

    return scale


def _of_each(key: str, field: str, change: Callable[[Any, float], Any]) -> Scale:
    def scale(world: Given, factor: float) -> None:
        for one in world.get(key) or []:
            if field in one:
                one[field] = change(one[field], factor)

    return scale


def _share(value: float, factor: float) -> float:
    return min(max(MOST, value), value * factor)


def _rest(value: float, factor: float) -> float:
    """Of what a share leaves."""
    return 1 - _share(1 - value, factor)


def _number(value: float, factor: float) -> float:
    return value * factor


def _median(value: Given, factor: float) -> Given:
    return {**value, "median": value["median"] * factor}


def _spread(value: Given, factor: float) -> Given:
    """As wide on a logarithmic scale as half or twice the variance makes it."""
    return {**value, "sigma": value["sigma"] * math.sqrt(factor)}


def _out_of_reach(world: Given, factor: float) -> None:
    """The share whom no messenger reaches."""
    rest = sum(one["share"] for one in world["reach"] if not one["channels"])
    if not 0 < rest < 1:
        return
    wanted = _share(rest, factor)
    for one in world["reach"]:
        one["share"] *= (1 - wanted) / (1 - rest) if one["channels"] else wanted / rest


def _sends(world: Given, factor: float) -> None:
    world["sends_per_day"] *= factor


PARAMETERS: dict[str, Scale] = {
    "latency of messengers": _of_channels("latency", _median, sms=False),
    "latency of SMS": _of_channels("latency", _median, sms=True),
    "spread of messengers' latency": _of_channels("latency", _spread, sms=False),
    "spread of SMS latency": _of_channels("latency", _spread, sms=True),
    "messengers lost": _of_channels("lost", _share, sms=False),
    "SMS lost": _of_channels("lost", _share, sms=True),
    "refusals of messengers": _of_channels("tells_unreachable", _share, sms=False),
    "refusals of SMS": _of_channels("tells_unreachable", _share, sms=True),
    "missing receipts of messengers": _of_channels("receipts", _rest, sms=False),
    "missing receipts of SMS": _of_channels("receipts", _rest, sms=True),
    "people out of messengers' reach": _out_of_reach,
    "returning people": _of_people("returning", _share),
    "wrong numbers": _of_people("wrong_number", _share),
    "people who bar SMS": _of_people("bars_sms", _share),
    "wrong codes": _of_people("enters_wrong", _share),
    "time until people give up": _of_people("gives_up", _median),
    "time to type": _of_people("typing", _median),
    "sends a day": _sends,
    "rate of attacks": _of_each("attacks", "per_hour", _number),
    "codes that attackers enter": _of_each("attacks", "enters", _share),
    "height of surges": _of_each("surges", "times", _number),
}
