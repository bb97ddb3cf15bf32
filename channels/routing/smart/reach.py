"""The share of sends that a channel delivers, by country, operator range and the phone's past.

A small cell borrows from its parent: range from country, country from the channel, that from a
guess. Counts have a half-life of weeks; how a channel does this hour is `health`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from channels.routing.smart.decay import DAY, Counts
from channels.routing.smart.phone_memory import PhoneMemory, Standing

HALF_LIFE = 21 * DAY
STRENGTHS = (2.0, 20.0, 40.0)  # sends that a guess, a channel, a country weigh in the level below
TOLD = 0.5

# Of a messenger, before anything is learned.
GUESSES = {
    Standing.NEW: 0.5,
    Standing.PROVED: 0.96,
    Standing.REFUSED: 0.05,
    Standing.SILENT: 0.3,
    Standing.MUTE: 0.08,
    Standing.BARRED: 0.02,
}
# SMS reaches all phones but those that bar it.
SMS_GUESSES = {
    Standing.NEW: 0.95,
    Standing.PROVED: 0.97,
    Standing.REFUSED: 0.3,
    Standing.SILENT: 0.6,
    Standing.MUTE: 0.2,
    Standing.BARRED: 0.02,
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a phone is: ISO 3166 and the prefix of its operator's range."""

    country: str
    range: str


@dataclass(frozen=True, slots=True)
class Stratum:
    """Phones with a like past: the channel's standing, and what its sisters showed."""

    standing: Standing
    sisters: str = ""  # "+": another messenger proved, "-": others failed, else nothing known


Key = tuple[str, str, str, Stratum]


def stratum(
    memory: PhoneMemory, channel: str, sisters: Iterable[str], now: float, *, after_failure: bool
) -> Stratum:
    """`sisters`: the other messengers; `after_failure`: one of them has just failed."""
    standings = [memory.standing(sister, now) for sister in sisters]
    if Standing.PROVED in standings and not after_failure:
        mark = "+"
    elif after_failure or any(one is not Standing.NEW for one in standings):
        mark = "-"
    else:
        mark = ""
    return Stratum(memory.standing(channel, now), mark)


@dataclass(slots=True)
class Reach:
    """`hits` are deliveries, `marks` refusals at once."""

    cells: dict[Key, Counts] = field(default_factory=dict)

    def record(
        self,
        now: float,
        place: Place,
        channel: str,
        past: Stratum,
        *,
        trials: float = 0.0,
        hits: float = 0.0,
        marks: float = 0.0,
    ) -> None:
        # Without a country two levels are one.
        for key in dict.fromkeys(_levels(place, channel, past)):
            cell = self.cells.get(key)
            if cell is None:
                cell = self.cells[key] = Counts(HALF_LIFE, now)
            cell.add(now, trials=trials, hits=hits, marks=marks)

    def delivered(
        self, now: float, place: Place, channel: str, past: Stratum, *, is_sms: bool
    ) -> float:
        """The probability that a send is delivered while the channel is well."""
        rate = (SMS_GUESSES if is_sms else GUESSES)[past.standing]
        if past.standing is Standing.NEW and not is_sms:
            rate = {"+": 0.6, "-": 0.3}.get(past.sisters, rate)
        strength = 20.0 if past.standing is Standing.PROVED or is_sms else STRENGTHS[0]
        for key, level in zip(_levels(place, channel, past), STRENGTHS, strict=True):
            cell = self.cells.get(key)
            if cell is not None:
                rate = cell.hit_rate(now, rate, max(strength, level))
            strength = 0.0
        return rate

    def told(self, now: float, place: Place, channel: str, past: Stratum) -> float:
        """The share of undelivered sends that the vendor refuses at once."""
        rate = TOLD
        for key, level in zip(_levels(place, channel, past), STRENGTHS, strict=True):
            cell = self.cells.get(key)
            if cell is not None:
                rate = cell.mark_rate(now, rate, level)
        return rate


def _levels(place: Place, channel: str, past: Stratum) -> tuple[Key, Key, Key]:
    return (
        ("", "", channel, past),
        (place.country, "", channel, past),
        (place.country, place.range, channel, past),
    )
