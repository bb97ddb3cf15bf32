"""Reads a world from JSON; an unknown key or a wrong value is an error that names its path."""

from collections.abc import Callable, Mapping
from typing import Any

Check = Callable[[Any, str], Any]


class WorldError(ValueError):
    """The path of the value and what is wrong with it."""


def number(least: float, most: float = float("inf"), *, whole: bool = False) -> Check:
    def check(value: Any, path: str) -> Any:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise WorldError(f"{path}: a number is needed, not {value!r}")
        if whole and value != int(value):
            raise WorldError(f"{path}: a whole number is needed, not {value!r}")
        if not least <= value <= most:
            raise WorldError(f"{path}: {value!r} is not in {least}..{most}")
        return value

    return check


share = number(0, 1)


def text(value: Any, path: str) -> str:
    if not isinstance(value, str) or not value:
        raise WorldError(f"{path}: a text is needed, not {value!r}")
    return value


def one_of(*names: str) -> Check:
    def check(value: Any, path: str) -> Any:
        if value not in names:
            raise WorldError(f"{path}: {value!r} is none of {', '.join(names)}")
        return value

    return check


def each(check: Check) -> Check:
    def check_each(value: Any, path: str) -> list[Any]:
        if not isinstance(value, list):
            raise WorldError(f"{path}: a list is needed")
        return [check(item, f"{path}[{n}]") for n, item in enumerate(value)]

    return check_each


def shape(fields: Mapping[str, Check], required: tuple[str, ...] = ()) -> Check:
    def check(value: Any, path: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise WorldError(f"{path or 'world'}: an object is needed")
        prefix = f"{path}." if path else ""
        for key in value:
            if key not in fields:
                raise WorldError(f"{prefix}{key}: unknown key")
        for key in required:
            if key not in value:
                raise WorldError(f"{prefix}{key}: missing")
        return {key: fields[key](one, f"{prefix}{key}") for key, one in value.items()}

    return check


def mapping(check: Check) -> Check:
    def check_each(value: Any, path: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise WorldError(f"{path}: an object is needed")
        return {str(key): check(one, f"{path}.{key}") for key, one in value.items()}

    return check_each


log_normal = shape({"median": number(0.001), "sigma": number(0, 5)}, ("median", "sigma"))
CHANNEL: dict[str, Check] = {
    "latency": log_normal,
    "lost": share,
    "tells_unreachable": share,
    "receipts": share,
}
channel = shape(CHANNEL)


def _range(value: Any, path: str) -> dict[str, Any]:
    """A range may set a channel apart by its name."""
    if not isinstance(value, dict):
        raise WorldError(f"{path}: an object is needed")
    fields: dict[str, Check] = {"prefix": text, "share": share}
    known = {"whatsapp", "telegram", "sms", "max", "viber", "voice", "call"}
    fields |= dict.fromkeys(known, channel)
    return dict(shape(fields, ("prefix", "share"))(value, path))


WORLD = shape(
    {
        "name": text,
        "days": number(0.01, 400),
        "warm_up_days": number(0, 400),
        "sends_per_day": number(0, 10_000_000),
        "baseline": each(text),
        "countries": each(
            shape(
                {"code": text, "share": share, "ranges": each(_range)},
                ("code", "share"),
            )
        ),
        "reach": each(shape({"channels": each(text), "share": share}, ("channels", "share"))),
        "people": shape(
            {
                "returning": share,
                "wrong_number": share,
                "bars_sms": share,
                "enters_wrong": share,
                "gives_up": log_normal,
                "typing": log_normal,
            }
        ),
        "channels": mapping(channel),
        "accounts": mapping(each(shape({"name": text, "share": share, **CHANNEL}, ("name",)))),
        "changes": each(
            shape(
                {
                    "day": number(-400),
                    "until": number(-400),
                    "channel": text,
                    "country": text,
                    "set": channel,
                },
                ("day", "channel", "set"),
            )
        ),
        "attacks": each(
            shape(
                {
                    "day": number(0),
                    "hours": number(0),
                    "per_hour": number(0),
                    "numbers": one_of("sequential", "random", "rotating", "slow"),
                    "prefix": text,
                    "enters": share,
                    "ips": number(0, whole=True),
                },
                ("day", "hours", "per_hour", "prefix"),
            )
        ),
        "surges": each(
            shape(
                {"day": number(-400), "hours": number(0), "times": number(0)},
                ("day", "hours", "times"),
            )
        ),
    },
    ("name", "reach"),
)
