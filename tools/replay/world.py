"""A world: who lives there, and what its vendors do, with defaults for what the file leaves out."""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import phonenumbers
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from config.local.processes import StartError

_SHAPE = Draft202012Validator(
    json.loads(Path(__file__).with_name("world.schema.json").read_text(encoding="utf-8"))
)

DAY = 86400.0
SMS = "sms"
NATIONAL_DIGITS = 7  # that follow an operator's prefix
DEFAULTS: dict[str, Any] = {"days": 14, "warm_up_days": 3, "sends_per_day": 5000}
PEOPLE: dict[str, Any] = {
    "returning": 0.5,
    "wrong_number": 0.03,
    "bars_sms": 0.0,
    "enters_wrong": 0.06,
    "gives_up": {"median": 75, "sigma": 0.6},
    "typing": {"median": 9, "sigma": 0.5},
}
MESSENGER: dict[str, Any] = {
    "latency": {"median": 2.5, "sigma": 0.6},
    "lost": 0.01,
    "tells_unreachable": 0.7,
    "receipts": 0.98,
}
TEXT: dict[str, Any] = {
    "latency": {"median": 4, "sigma": 0.67},
    "lost": 0.03,
    "tells_unreachable": 0.5,
    "receipts": 0.95,
}


class WorldError(StartError):
    """The path of the value and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How a channel behaves, at one moment in one place, through one account."""

    median: float
    sigma: float
    lost: float
    tells_unreachable: float
    receipts: float

    def changed(self, given: dict[str, Any]) -> "Behaviour":
        new = {key: given[key] for key in ("lost", "tells_unreachable", "receipts") if key in given}
        return replace(self, **new, **given.get("latency", {}))


@dataclass(frozen=True, slots=True)
class Range:
    country: str
    prefix: str
    share: float  # of all people
    own: dict[str, Any]  # what it changes, by channel


@dataclass(frozen=True, slots=True)
class Account:
    name: str
    share: float
    own: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Change:
    start: float
    end: float
    channel: str
    country: str | None
    given: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Attack:
    start: float
    seconds: float
    per_hour: float
    numbers: str
    prefix: str
    enters: float
    ips: int


@dataclass(frozen=True, slots=True)
class Surge:
    start: float
    seconds: float
    times: float


@dataclass(frozen=True, slots=True)
class World:
    """Times are in seconds; 0 is the end of the warm-up."""

    name: str
    end: float
    warm_up: float
    sends_per_day: float
    baseline: tuple[str, ...]
    ranges: tuple[Range, ...]
    reach: tuple[tuple[frozenset[str], float], ...]
    people: dict[str, Any]
    channels: dict[str, Behaviour]
    accounts: dict[str, tuple[Account, ...]]
    changes: tuple[Change, ...]
    attacks: tuple[Attack, ...]
    surges: tuple[Surge, ...]
    _seen: dict[tuple[int, str, str, str], Behaviour] = field(default_factory=dict)

    def behaviour(self, channel: str, place: Range, account: str, at: float) -> Behaviour:
        active = 0
        for n, change in enumerate(self.changes):
            if change.start <= at < change.end:
                active |= 1 << n
        key = active, channel, place.prefix, account
        behaviour = self._seen.get(key)
        if behaviour is None:
            behaviour = self._seen[key] = self._behaviour(channel, place, account, active)
        return behaviour

    def _behaviour(self, channel: str, place: Range, account: str, active: int) -> Behaviour:
        behaviour = self.channels[channel].changed(place.own.get(channel, {}))
        for row in self.accounts.get(channel, ()):
            if row.name == account:
                behaviour = behaviour.changed(row.own)
        for n, change in enumerate(self.changes):
            here = change.country in {None, place.country}
            if active >> n & 1 and change.channel == channel and here:
                behaviour = behaviour.changed(change.given)
        return behaviour


def read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError) as error:
        raise WorldError(f"{path.name}: no JSON: {error}") from error


def load(path: Path) -> World:
    return build(read(path))


def build(given: Any) -> World:
    if error := best_match(_SHAPE.iter_errors(given)):
        raise WorldError(f"{error.json_path.removeprefix('$.')}: {error.message}")
    read = {**DEFAULTS, **given}
    channels = _channels(read)
    days = read["days"] * DAY
    return World(
        name=read["name"],
        end=days,
        warm_up=read["warm_up_days"] * DAY,
        sends_per_day=read["sends_per_day"],
        baseline=_known(read.get("baseline", list(channels)), channels, "baseline"),
        ranges=_ranges(read.get("countries", [{"code": "RU", "share": 1}]), channels),
        reach=_reach(read["reach"], channels),
        people={**PEOPLE, **read.get("people", {})},
        channels=channels,
        accounts=_accounts(read.get("accounts", {}), channels),
        changes=tuple(
            _change(row, n, days, channels) for n, row in enumerate(read.get("changes", []))
        ),
        attacks=tuple(map(_attack, read.get("attacks", []))),
        surges=tuple(
            Surge(surge["day"] * DAY, surge["hours"] * 3600, surge["times"])
            for surge in read.get("surges", [])
        ),
    )


def _channels(read: dict[str, Any]) -> dict[str, Behaviour]:
    given = read.get("channels", {"whatsapp": {}, "telegram": {}})
    named = {**given, SMS: given.get(SMS, {})}
    return {
        name: Behaviour(**_flat({**(TEXT if name == SMS else MESSENGER), **changes}))
        for name, changes in named.items()
    }


def _flat(given: dict[str, Any]) -> dict[str, float]:
    return {**given["latency"], **{key: row for key, row in given.items() if key != "latency"}}


def _ranges(countries: list[dict[str, Any]], channels: dict[str, Behaviour]) -> tuple[Range, ...]:
    """What a country's ranges leave of its share has a prefix of its own; countries are scaled."""
    total = sum(country["share"] for country in countries)
    if not 0 < total <= 1.001:
        raise WorldError(f"countries: the shares sum to {total:g}")
    ranges = []
    for n, country in enumerate(countries):
        part = country["share"] / total
        named = country.get("ranges", [])
        covered = sum(row["share"] for row in named)
        if covered > 1.001:
            raise WorldError(f"countries[{n}].ranges: the shares sum to {covered:g}")
        for m, row in enumerate(named):
            changes = {key: value for key, value in row.items() if key not in {"prefix", "share"}}
            _known(list(changes), channels, f"countries[{n}].ranges[{m}]")
            ranges.append(Range(country["code"], row["prefix"], part * row["share"], changes))
        if covered < 0.999:
            code = phonenumbers.country_code_for_region(country["code"])
            if not code:
                raise WorldError(f"countries[{n}].code: {country['code']!r} is no country")
            ranges.append(Range(country["code"], f"+{code}900", part * (1 - covered), {}))
    return tuple(ranges)


def _reach(
    given: list[dict[str, Any]], channels: dict[str, Behaviour]
) -> tuple[tuple[frozenset[str], float], ...]:
    total = sum(row["share"] for row in given)
    if abs(total - 1) > 0.001:
        raise WorldError(f"reach: the shares sum to {total:g}, not to 1")
    return tuple(
        (frozenset(_known(row["channels"], channels, f"reach[{n}].channels")), row["share"])
        for n, row in enumerate(given)
    )


def _accounts(
    given: dict[str, Any], channels: dict[str, Behaviour]
) -> dict[str, tuple[Account, ...]]:
    _known(list(given), channels, "accounts")
    return {
        name: tuple(
            Account(
                item["name"],
                item.get("share", 1 / len(items)),
                {key: value for key, value in item.items() if key not in {"name", "share"}},
            )
            for item in items
        )
        for name, items in given.items()
    }


def _change(given: dict[str, Any], n: int, end: float, channels: dict[str, Behaviour]) -> Change:
    _known([given["channel"]], channels, f"changes[{n}].channel")
    until = given["until"] * DAY if "until" in given else end + DAY
    return Change(given["day"] * DAY, until, given["channel"], given.get("country"), given["set"])


def _attack(given: dict[str, Any]) -> Attack:
    return Attack(
        given["day"] * DAY,
        given["hours"] * 3600,
        given["per_hour"],
        given.get("numbers", "random"),
        given["prefix"],
        given.get("enters", 0.0),
        given.get("ips", 1),
    )


def _known(names: list[str], channels: dict[str, Behaviour], path: str) -> tuple[str, ...]:
    for name in names:
        if name not in channels:
            raise WorldError(f"{path}: {name!r} is no channel of this world")
    return tuple(names)
