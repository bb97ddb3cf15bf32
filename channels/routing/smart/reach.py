"""Whether a channel reaches a phone, from the memory of this phone and of similar ones.

The delivered share of a channel's sends depends on country, carrier range and the phone's past. A
small cell is shrunk to its parent: range to country, country to channel, channel to a guess. Counts
have a half-life of weeks; `health` tracks the current hour.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from channels.routing.smart.decay import DAY, Counts

EXPIRY = 180 * DAY


class Standing(StrEnum):
    """The state of a channel for a phone."""

    NEW = "new"
    PROVED = "proved"
    REFUSED = "refused"
    UNPROVED_ONCE = "unproved_once"  # one send without proof
    UNPROVED_OFTEN = "unproved_often"  # more than one
    BARRED = "barred"


@dataclass(slots=True)
class ChannelTrace:
    """The history of a channel and a phone. Times are None until the event happened."""

    proved_at: float | None = None
    refused_at: float | None = None
    unproved_at: float | None = None
    unproved_sends: int = 0  # sends without proof since the last one with it
    barred_at: float | None = None


@dataclass(slots=True)
class PhoneMemory:
    channels: dict[str, ChannelTrace] = field(default_factory=dict)

    def trace(self, channel: str) -> ChannelTrace:
        return self.channels.setdefault(channel, ChannelTrace())

    def record_proof(self, channel: str, now: float) -> None:
        trace = self.trace(channel)
        trace.proved_at = now
        trace.unproved_sends = 0
        trace.barred_at = None

    def record_refusal(self, channel: str, now: float, *, barred: bool = False) -> None:
        trace = self.trace(channel)
        if barred:
            trace.barred_at = now
        else:
            trace.refused_at = now

    def record_unproved(self, channel: str, now: float) -> None:
        trace = self.trace(channel)
        trace.unproved_at = now
        trace.unproved_sends += 1

    def standing(self, channel: str, now: float) -> Standing:
        """The standing by the newest outcome; a single silence does not outweigh a proof."""
        trace = self.channels.get(channel)
        if trace is None:
            return Standing.NEW
        if _is_fresh(trace.barred_at, now):
            return Standing.BARRED
        moments = (trace.proved_at, trace.refused_at, trace.unproved_at)
        proved, refused, silent = (at if _is_fresh(at, now) else None for at in moments)
        if proved is not None and proved >= (refused or proved) and trace.unproved_sends < 2:
            return Standing.PROVED
        if refused is not None and refused >= (silent or refused):
            return Standing.REFUSED
        if silent is not None:
            return Standing.UNPROVED_OFTEN if trace.unproved_sends > 1 else Standing.UNPROVED_ONCE
        return Standing.NEW

    def has_proved(self, channels: Iterable[str], now: float) -> bool:
        return any(self.standing(channel, now) is Standing.PROVED for channel in channels)


def _is_fresh(at: float | None, now: float) -> bool:
    return at is not None and now - at < EXPIRY


HALF_LIFE = 21 * DAY
# Prior strengths, in sends, of a guess, a channel, a country for the level below.
STRENGTHS = (2.0, 20.0, 40.0)

# Rates of a messenger before anything is learned.
GUESSES = {
    Standing.NEW: 0.5,
    Standing.PROVED: 0.96,
    Standing.REFUSED: 0.05,
    Standing.UNPROVED_ONCE: 0.3,
    Standing.UNPROVED_OFTEN: 0.08,
    Standing.BARRED: 0.02,
}
# SMS reaches all phones except those that bar it.
SMS_GUESSES = {
    Standing.NEW: 0.95,
    Standing.PROVED: 0.97,
    Standing.REFUSED: 0.3,
    Standing.UNPROVED_ONCE: 0.6,
    Standing.UNPROVED_OFTEN: 0.2,
    Standing.BARRED: 0.02,
}


@dataclass(frozen=True, slots=True)
class Area:
    """A phone's area: ISO 3166 and the prefix of its carrier's range."""

    country: str
    range: str


@dataclass(frozen=True, slots=True)
class PhoneHistoryGroup:
    """Phones with a similar past: the standing of the channel and of the other messengers."""

    standing: Standing
    others: str = ""  # "+": another messenger proved, "-": others failed, else unknown


Key = tuple[str, str, str, PhoneHistoryGroup]


def history_group(
    memory: PhoneMemory,
    channel: str,
    others: Iterable[str],
    now: float,
    *,
    after_failure: bool,
) -> PhoneHistoryGroup:
    """The group of a phone. `others`: the other messengers; `after_failure`: one just failed."""
    standings = [memory.standing(other, now) for other in others]
    if Standing.PROVED in standings and not after_failure:
        sign = "+"
    elif after_failure or any(standing is not Standing.NEW for standing in standings):
        sign = "-"
    else:
        sign = ""
    return PhoneHistoryGroup(memory.standing(channel, now), sign)


@dataclass(slots=True)
class Reach:
    """Counts by cell: `hits` are deliveries, `refusals` immediate refusals."""

    cells: dict[Key, Counts] = field(default_factory=dict)

    def record(
        self,
        now: float,
        area: Area,
        channel: str,
        past: PhoneHistoryGroup,
        *,
        trials: float = 0.0,
        hits: float = 0.0,
        refusals: float = 0.0,
    ) -> None:
        # Without a country two levels coincide.
        for key in dict.fromkeys(_levels(area, channel, past)):
            cell = self.cells.get(key)
            if cell is None:
                cell = self.cells[key] = Counts(HALF_LIFE, now)
            cell.add(now, trials=trials, hits=hits, refusals=refusals)

    def delivery_probability(
        self, now: float, area: Area, channel: str, past: PhoneHistoryGroup, *, is_sms: bool
    ) -> float:
        """The probability of a delivery while the channel is well."""
        rate = (SMS_GUESSES if is_sms else GUESSES)[past.standing]
        if past.standing is Standing.NEW and not is_sms:
            rate = {"+": 0.6, "-": 0.3}.get(past.others, rate)
        strength = 20.0 if past.standing is Standing.PROVED or is_sms else STRENGTHS[0]
        for key, level in zip(_levels(area, channel, past), STRENGTHS, strict=True):
            cell = self.cells.get(key)
            if cell is not None:
                rate = cell.hit_rate(now, rate, max(strength, level))
            strength = 0.0
        return rate

    def immediate_refusals(
        self, now: float, area: Area, channel: str, past: PhoneHistoryGroup
    ) -> float:
        """The share of undelivered sends that the vendor refuses at once."""
        rate = 0.5
        for key, level in zip(_levels(area, channel, past), STRENGTHS, strict=True):
            cell = self.cells.get(key)
            if cell is not None:
                rate = cell.refusal_rate(now, rate, level)
        return rate


def _levels(area: Area, channel: str, past: PhoneHistoryGroup) -> tuple[Key, Key, Key]:
    return (
        ("", "", channel, past),
        (area.country, "", channel, past),
        (area.country, area.range, channel, past),
    )
