"""A world: who lives there, and what its vendors do, with defaults for what the file leaves out."""

import json
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import phonenumbers
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from config.local.processes import StartError

HERE = Path(__file__).parent
_SHAPE = Draft202012Validator(json.loads((HERE / "world.schema.json").read_text(encoding="utf-8")))
_DEFAULTS: dict[str, Any] = json.loads((HERE / "defaults.json").read_text(encoding="utf-8"))
DAY = 86400.0
SMS = "sms"
NATIONAL_DIGITS = 7  # that follow an operator's prefix


class WorldError(StartError):
    """An error whose text has the path of the faulty value, and the fault."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The behaviour of a channel, at one moment in one place, through one account."""

    median: float
    sigma: float
    lost: float
    tells_unreachable: float
    receipts: float

    def changed(self, behaviour: dict[str, Any]) -> "Behaviour":
        new = {
            key: behaviour[key]
            for key in ("lost", "tells_unreachable", "receipts")
            if key in behaviour
        }
        return replace(self, **new, **behaviour.get("latency", {}))


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
    prefix: str
    numbers: str = "random"
    enters: float = 0.0
    ips: int = 1


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

    def behaviour(self, channel: str, number_range: Range, account: str, at: float) -> Behaviour:
        active = 0
        for n, change in enumerate(self.changes):
            if change.start <= at < change.end:
                active |= 1 << n
        key = active, channel, number_range.prefix, account
        behaviour = self._seen.get(key)
        if behaviour is None:
            behaviour = self._seen[key] = self._behaviour(channel, number_range, account, active)
        return behaviour

    def _behaviour(self, channel: str, number_range: Range, account: str, active: int) -> Behaviour:
        behaviour = self.channels[channel].changed(number_range.own.get(channel, {}))
        for row in self.accounts.get(channel, ()):
            if row.name == account:
                behaviour = behaviour.changed(row.own)
        for n, change in enumerate(self.changes):
            here = change.country in {None, number_range.country}
            if active >> n & 1 and change.channel == channel and here:
                behaviour = behaviour.changed(change.given)
        return behaviour


def read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError) as error:
        raise WorldError(f"{path.name}: no JSON: {error}") from error


def complete(description: dict[str, Any]) -> dict[str, Any]:
    """The world with the defaults written out."""
    world: dict[str, Any] = deepcopy(_DEFAULTS["world"] | description)
    world["people"] = deepcopy(_DEFAULTS["people"]) | world.get("people", {})
    world["channels"] = {
        name: deepcopy(_DEFAULTS["sms" if name == SMS else "messenger"]) | how
        for name, how in {**world["channels"], SMS: world["channels"].get(SMS, {})}.items()
    }
    return world


def build(description: Any) -> World:
    if error := best_match(_SHAPE.iter_errors(description)):
        raise WorldError(f"{error.json_path.removeprefix('$.')}: {error.message}")
    completed = complete(description)
    channels = {name: Behaviour(**_flat(how)) for name, how in completed["channels"].items()}
    days = completed["days"] * DAY
    return World(
        name=completed["name"],
        end=days,
        warm_up=completed["warm_up_days"] * DAY,
        sends_per_day=completed["sends_per_day"],
        baseline=_known(completed.get("baseline", list(channels)), channels, "baseline"),
        ranges=_ranges(completed["countries"], channels),
        reach=_reach(completed["reach"], channels),
        people=completed["people"],
        channels=channels,
        accounts=_accounts(completed.get("accounts", {}), channels),
        changes=tuple(
            _change(row, n, days, channels) for n, row in enumerate(completed.get("changes", []))
        ),
        attacks=tuple(map(_attack, completed.get("attacks", []))),
        surges=tuple(
            Surge(surge["day"] * DAY, surge["hours"] * 3600, surge["times"])
            for surge in completed.get("surges", [])
        ),
    )


def _flat(behaviour: dict[str, Any]) -> dict[str, float]:
    return {
        **behaviour["latency"],
        **{key: row for key, row in behaviour.items() if key != "latency"},
    }


def _ranges(countries: list[dict[str, Any]], channels: dict[str, Behaviour]) -> tuple[Range, ...]:
    """The ranges, and a prefix for the rest of each country's share; countries are scaled."""
    total = sum(country["share"] for country in countries)
    if not 0 < total <= 1.001:
        raise WorldError(f"countries: the shares sum to {total:g}")
    ranges = []
    for n, country in enumerate(countries):
        part = country["share"] / total
        country_ranges = country.get("ranges", [])
        covered = sum(row["share"] for row in country_ranges)
        if covered > 1.001:
            raise WorldError(f"countries[{n}].ranges: the shares sum to {covered:g}")
        for m, row in enumerate(country_ranges):
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
    rows: list[dict[str, Any]], channels: dict[str, Behaviour]
) -> tuple[tuple[frozenset[str], float], ...]:
    total = sum(row["share"] for row in rows)
    if abs(total - 1) > 0.001:
        raise WorldError(f"reach: the shares sum to {total:g}, not to 1")
    return tuple(
        (frozenset(_known(row["channels"], channels, f"reach[{n}].channels")), row["share"])
        for n, row in enumerate(rows)
    )


def _accounts(
    accounts: dict[str, Any], channels: dict[str, Behaviour]
) -> dict[str, tuple[Account, ...]]:
    _known(list(accounts), channels, "accounts")
    return {
        channel: tuple(
            Account(
                row["name"],
                row.get("share", 1 / len(rows)),
                {key: value for key, value in row.items() if key not in {"name", "share"}},
            )
            for row in rows
        )
        for channel, rows in accounts.items()
    }


def _change(change: dict[str, Any], n: int, end: float, channels: dict[str, Behaviour]) -> Change:
    _known([change["channel"]], channels, f"changes[{n}].channel")
    until = change["until"] * DAY if "until" in change else end + DAY
    return Change(
        change["day"] * DAY, until, change["channel"], change.get("country"), change["set"]
    )


def _attack(attack: dict[str, Any]) -> Attack:
    options = {name: row for name, row in attack.items() if name not in {"day", "hours"}}
    return Attack(attack["day"] * DAY, attack["hours"] * 3600, **options)


def _known(names: list[str], channels: dict[str, Behaviour], path: str) -> tuple[str, ...]:
    for name in names:
        if name not in channels:
            raise WorldError(f"{path}: {name!r} is no channel of this world")
    return tuple(names)
