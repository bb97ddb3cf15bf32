"""What is remembered of one phone: which channels reached it, and which did not. Expires."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from channels.routing.smart.decay import DAY

EXPIRY = 180 * DAY


class Standing(StrEnum):
    """How a channel stands with a phone."""

    NEW = "new"
    PROVED = "proved"
    REFUSED = "refused"
    SILENT = "silent"  # once
    MUTE = "mute"  # more than once
    BARRED = "barred"


@dataclass(slots=True)
class ChannelTrace:
    """Moments are None until something happened."""

    proved_at: float | None = None
    seconds_to_code: float | None = None
    refused_at: float | None = None
    silent_at: float | None = None
    silences: int = 0  # since the last proof
    barred_at: float | None = None


@dataclass(slots=True)
class PhoneMemory:
    channels: dict[str, ChannelTrace] = field(default_factory=dict)

    def trace(self, channel: str) -> ChannelTrace:
        return self.channels.setdefault(channel, ChannelTrace())

    def proved(self, channel: str, now: float) -> None:
        trace = self.trace(channel)
        trace.proved_at = now
        trace.silences = 0
        trace.barred_at = None

    def refused(self, channel: str, now: float, *, barred: bool = False) -> None:
        trace = self.trace(channel)
        if barred:
            trace.barred_at = now
        else:
            trace.refused_at = now

    def silent(self, channel: str, now: float) -> None:
        trace = self.trace(channel)
        trace.silent_at = now
        trace.silences += 1

    def verified(self, channel: str, now: float, seconds: float) -> None:
        self.proved(channel, now)
        self.trace(channel).seconds_to_code = seconds

    def standing(self, channel: str, now: float) -> Standing:
        """The newest outcome counts; a single silence does not outweigh a proof."""
        trace = self.channels.get(channel)
        if trace is None:
            return Standing.NEW
        if _fresh(trace.barred_at, now):
            return Standing.BARRED
        moments = (trace.proved_at, trace.refused_at, trace.silent_at)
        proved, refused, silent = (at if _fresh(at, now) else None for at in moments)
        if proved is not None and proved >= (refused or proved) and trace.silences < 2:
            return Standing.PROVED
        if refused is not None and refused >= (silent or refused):
            return Standing.REFUSED
        if silent is not None:
            return Standing.MUTE if trace.silences > 1 else Standing.SILENT
        return Standing.NEW

    def has_proved(self, channels: Iterable[str], now: float) -> bool:
        return any(self.standing(channel, now) is Standing.PROVED for channel in channels)


def _fresh(at: float | None, now: float) -> bool:
    return at is not None and now - at < EXPIRY
