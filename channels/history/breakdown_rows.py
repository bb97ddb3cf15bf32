"""The rows of a day's breakdowns: countries told by phones, and few enough purposes."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import fields
from datetime import date
from operator import attrgetter
from typing import NamedTuple

from channels.extensions import BreakdownCount
from channels.models import DayBreakdown
from channels.phone_numbers import country_of

# Of a company's purposes in a day, the most used. Clients choose them, an order's number even, and
# each would be a row for ever.
MAX_PURPOSES = 50
COUNTS = tuple(
    one.name
    for one in fields(BreakdownCount)
    if one.name not in {"company_id", "mode", "dimension", "value"}
)
_counts_of = attrgetter(*COUNTS)
# An anonymised phone has its first digits: enough for most countries, once it is as long as others.
ANONYMISED_LENGTH, FILLING = 12, "2"


class Place(NamedTuple):
    """What one row is about."""

    company_id: int
    mode: str
    dimension: str
    value: str
    is_rest: bool = False


def sums_of(found: Iterable[BreakdownCount]) -> dict[Place, list[int]]:
    """The counts by their place, in the order of `COUNTS`."""
    sums: dict[Place, list[int]] = defaultdict(lambda: [0] * len(COUNTS))
    for row in found:
        _add(sums[_place(row)], _counts_of(row))
    return sums


def rows_of(day: date, found: Iterable[BreakdownCount]) -> Iterator[DayBreakdown]:
    for place, counts in sorted(_with_few_purposes(sums_of(found)).items()):
        yield DayBreakdown(day=day, **place._asdict(), **dict(zip(COUNTS, counts, strict=True)))


def _place(row: BreakdownCount) -> Place:
    value = row.value
    if row.dimension == DayBreakdown.Dimension.COUNTRY:
        value = country_of_any(value)
    return Place(row.company_id, row.mode, row.dimension, value)


def country_of_any(phone: str) -> str:
    if not phone.endswith("*"):
        return country_of(phone)
    return country_of(phone.rstrip("*").ljust(ANONYMISED_LENGTH, FILLING))


def _with_few_purposes(sums: dict[Place, list[int]]) -> dict[Place, list[int]]:
    kept: dict[Place, list[int]] = {}
    of_company: dict[tuple[int, str], list[Place]] = defaultdict(list)
    for place, counts in sums.items():
        if place.dimension == DayBreakdown.Dimension.PURPOSE and place.value:
            of_company[place[:2]].append(place)
        else:
            kept[place] = counts
    for purposes in of_company.values():
        purposes.sort(key=lambda place: (-sums[place][0], place.value))
        kept |= {place: sums[place] for place in purposes[:MAX_PURPOSES]}
        if others := purposes[MAX_PURPOSES:]:
            rest = kept[others[0]._replace(value="", is_rest=True)] = [0] * len(COUNTS)
            for place in others:
                _add(rest, sums[place])
    return kept


def _add(sums: list[int], counts: Iterable[int]) -> None:
    for n, count in enumerate(counts):
        sums[n] += count
