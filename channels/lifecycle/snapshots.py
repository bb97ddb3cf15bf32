"""The state of a message with its attempts and fallback chain, and a decision about it.

Immutable values. Named tuples, because `_replace` costs a tenth of `replace` on a frozen dataclass.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from billing.wallet.ledger import Settlement, TransferKind
from channels.phone_numbers import country_of

OPEN_MESSAGE = {"queued", "sent"}
OPEN_ATTEMPT = {"submitting", "ambiguous", "sent"}


@dataclass(frozen=True, slots=True)
class FallbackStep:
    """A fallback channel with its price at acceptance and its patience in seconds."""

    channel: str
    price: int
    patience: float


class FallbackReason(StrEnum):
    """Why a message fell back, stopped, or cancelled its fallback; shown in its timeline."""

    # Switched to the next channel:
    PATIENCE = "patience"  # no proof within the channel's patience
    REFUSED = "refused"  # the previous channel failed
    REQUESTED = "requested"  # at the company's request
    # Stopped at the current channel:
    TOKENS = "tokens"  # the balance cannot pay for the next channel
    BUDGET = "budget"  # a budget cannot pay for it
    TIME = "time"  # too little useful time is left
    SENT_BY_NEWER = "taken"  # a newer message uses that channel
    # Cancelled the next channel:
    LATE = "late"  # an earlier channel delivered
    CODE_ENTERED = "code_entered"
    CLICK = "click"
    CANCELLED = "cancelled"  # the code was cancelled, replaced or exhausted; the link was disabled
    BLOCKED = "blocked"  # the phone was blocked, by its STOP or by the operator
    # Kept the next channel: an earlier channel delivered, but the next vendor already has the
    # message.
    OWED = "owed"  # charged if the next channel delivers too


@dataclass(frozen=True, slots=True)
class FallbackRequest:
    """Requests the next channel; if the wallet rejects it, a failed message ends as given."""

    reason: FallbackReason
    state: str = ""
    error: str = ""


class AttemptState(NamedTuple):
    """An attempt: the columns that `load` of `channels/messages.sql` reads, then those only
    written.
    """

    id: UUID
    n: int
    hold: int
    state: str
    provider: str
    provider_id: str | None
    polls: int
    channel: str = ""
    price: int = 0  # tokens of its hold, open or closed
    error_class: str | None = None
    error_code: str | None = None
    error_detail: str | None = None
    poll_in: float | None = None  # seconds until the next poll

    @property
    def is_open(self) -> bool:
        return self.state in OPEN_ATTEMPT


class MessageState(NamedTuple):
    """A message: the columns that `load` of `channels/messages.sql` reads."""

    id: UUID
    company_id: int
    mode: str
    kind: str
    channel: str
    chain: tuple[FallbackStep, ...]  # steps still to try, in order
    phone: str
    state: str
    error: str
    tries: int
    hold: int
    price: int
    time_left: float
    subject_id: UUID
    has_subscribers: bool = False  # whether a webhook endpoint of the company subscribes
    due_in: float | None = None  # seconds; None if a provider has the message or it is final
    is_owed: bool = False  # delivered, while the hold of a later attempt is still open
    api_key_id: int | None = None  # key whose daily limit its holds count against

    @property
    def is_open(self) -> bool:
        return self.state in OPEN_MESSAGE


class Snapshot(NamedTuple):
    """A message and its attempts, as read under the message's lock."""

    message: MessageState
    attempts: tuple[AttemptState, ...]

    @property
    def has_open_attempt(self) -> bool:
        return any(attempt.is_open for attempt in self.attempts)


class Decision(NamedTuple):
    """The transition of a message. `outcomes.decision_writer` writes it in one commit."""

    before: Snapshot
    message: MessageState  # the message afterwards; its `due_in` schedules the next try
    attempts: tuple[AttemptState, ...]  # the attempts afterwards
    settlements: tuple[Settlement, ...] = ()
    fallback: FallbackRequest | None = None  # an exchange of holds for the wallet to pay
    patience: float | None = None  # in seconds, of the channel it has switched to
    # Reasons for the timeline, with their channel.
    fallback_events: tuple[tuple[FallbackReason, str], ...] = ()
    delivered_at: datetime | None = None
    read_at: datetime | None = None
    is_read: bool = False
    is_rerouted: bool = False  # due at once by another account

    @property
    def changes_message(self) -> bool:
        return self.message is not self.before.message or self.is_read

    @property
    def has_new_state(self) -> bool:
        return self.message.state != self.before.message.state

    @property
    def sends_webhook_event(self) -> bool:
        return self.has_new_state and self.message.has_subscribers

    @property
    def is_outcome(self) -> bool:
        """Whether a waiting sender receives it: a step to another channel or account is none."""
        return self.message.hold == self.before.message.hold and not self.is_rerouted

    @property
    def has_open_attempt(self) -> bool:
        return any(attempt.is_open for attempt in self.attempts)

    @property
    def changed_attempts(self) -> list[tuple[AttemptState, AttemptState]]:
        """Changed attempts as pairs (before, after)."""
        pairs = zip(self.before.attempts, self.attempts, strict=True)
        return [(before, after) for before, after in pairs if after is not before]

    def with_attempt(self, before: AttemptState, after: AttemptState) -> "Decision":
        attempts = [after if attempt is before else attempt for attempt in self.attempts]
        return self._replace(attempts=tuple(attempts))

    def with_state(self, state: str, error: str) -> "Decision":
        if state in OPEN_MESSAGE:
            return self._replace(message=self.message._replace(state=state, error=error))
        final = self.message._replace(state=state, error=error, due_in=None)
        return self._replace(message=final, fallback=None)

    def with_fallback_event(self, reason: FallbackReason, channel: str) -> "Decision":
        return self._replace(fallback_events=(*self.fallback_events, (reason, channel)))

    def settle(self, kind: TransferKind, *, proof: str = "", reason: str = "") -> "Decision":
        """Captures or releases the message's current hold."""
        message = self.message
        country = country_of(message.phone) if kind is TransferKind.RELEASE else ""
        settlement = Settlement(
            company_id=message.company_id,
            message_id=message.id,
            hold=message.hold,
            amount=message.price,
            kind=kind,
            proof=proof,
            reason=reason,
            country=country,
            api_key_id=message.api_key_id,
        )
        return self._replace(settlements=(*self.settlements, settlement))

    def finish(self, state: str, error: str, *, reason: str = "") -> "Decision":
        """Ends an undelivered message and releases its hold."""
        return self.settle(TransferKind.RELEASE, reason=reason or state).with_state(state, error)


def unchanged_decision(snapshot: Snapshot) -> Decision:
    return Decision(snapshot, snapshot.message, snapshot.attempts)
