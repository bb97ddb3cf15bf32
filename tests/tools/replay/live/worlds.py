"""A small world, and changes of it."""

from typing import Any

from tools.replay.world import World, build

SMALL: dict[str, Any] = {
    "name": "small",
    "days": 1,
    "warm_up_days": 0.2,
    "sends_per_day": 1000,
    "countries": [{"code": "KZ", "share": 1, "ranges": [{"prefix": "+7701", "share": 1}]}],
    "reach": [{"channels": ["telegram"], "share": 0.6}, {"channels": [], "share": 0.4}],
    "channels": {"telegram": {}},
    "baseline": ["telegram", "sms"],
}


def small(**changed: Any) -> World:
    return build({**SMALL, **changed})
