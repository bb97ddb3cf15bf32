"""Phones that entered a code before: they pass whatever the guard finds, with a few codes a day."""

from dataclasses import dataclass

from channels.routing.smart.decay import DAY, HOUR

# A number that entered a code this long ago passes every step, with this many codes a day since its
# newest right code: a bought number may have entered one.
KNOWN_AFTER, KNOWN_CODES = DAY, 3
# Only this many codes to one phone count against the numbers around it: a developer's own phone, or
# a bombed one, says nothing about them. The codes with which a known phone passes come on top.
COUNTED_OF_PHONE, PHONE_WINDOW = 3, 12 * HOUR

_KEPT = COUNTED_OF_PHONE + KNOWN_CODES + 1


@dataclass(slots=True)
class PhoneHistory:
    """The codes of one phone with one company; times in seconds. It forgets nothing: who reads one
    from rows goes back so far as right codes are remembered.
    """

    first_entered: float | None = None
    last_entered: float | None = None
    sent: tuple[float, ...] = ()  # the newest ones, the oldest of them first

    def was_sent(self, at: float) -> None:
        self.sent = (*self.sent, at)[-_KEPT:]

    def was_entered(self, at: float) -> None:
        if self.first_entered is None:
            self.first_entered = at
        self.last_entered = at

    def is_known(self, now: float) -> bool:
        """Whether a code sent now passes every step, and so is no evidence."""
        if self.last_entered is None or not self.is_remembered(now):
            return False
        since = min(self.last_entered, now - KNOWN_AFTER)
        return self._sent_since(since) < KNOWN_CODES

    def is_remembered(self, now: float) -> bool:
        return self.first_entered is not None and now - self.first_entered > KNOWN_AFTER

    def is_counted(self, now: float) -> bool:
        """Whether a code that is missed now speaks against the numbers around it."""
        known = KNOWN_CODES if self.is_remembered(now) else 0
        return self._sent_since(now - PHONE_WINDOW) <= COUNTED_OF_PHONE + known

    def _sent_since(self, moment: float) -> int:
        return sum(at > moment for at in self.sent)
