"""A stateful test: one message, its attempts and the wallet through random events."""

from collections import Counter

from hypothesis import settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from billing.wallet.ledger import DeliveryProof, Settlement, TransferKind
from channels.lifecycle import fallback_chain
from channels.lifecycle.snapshots import (
    OPEN_ATTEMPT,
    OPEN_MESSAGE,
    AttemptState,
    Decision,
    FallbackReason,
    FallbackStep,
    MessageState,
    Snapshot,
    unchanged_decision,
)
from channels.lifecycle.state_machine import Event, EventKind, decide, give_up
from tests.channels.lifecycle.test_state_machine import AT, attempt, message

RANK = {"queued": 0, "sent": 1, "failed": 2, "expired": 2, "delivered": 3}
STEPS = [FallbackStep("telegram", 1, 30.0), FallbackStep("sms", 16, 30.0)]


class Life(RuleBasedStateMachine):
    """Plays events in any order, twice, late or never, with too few tokens at times."""

    @initialize(
        steps=strategies.lists(strategies.sampled_from(STEPS), max_size=3),
        tokens=strategies.integers(0, 40),
    )
    def accept(self, steps: list[FallbackStep], tokens: int) -> None:
        self.state = Snapshot(message(tries=0, chain=tuple(steps), due_in=0.0), ())
        self.available = tokens
        self.holds = {1: 1}
        self.ledger: list[Settlement] = []
        self.history = ["queued"]
        self.proved: set[int] = set()

    @property
    def message(self) -> MessageState:
        return self.state.message

    def open_attempts(self) -> list[AttemptState]:
        return [
            attempt_state
            for attempt_state in self.state.attempts
            if attempt_state.state in OPEN_ATTEMPT
        ]

    @precondition(lambda self: self.message.due_in is not None and not self.open_attempts())
    @rule()
    def claim(self) -> None:
        claimed = self.message._replace(tries=self.message.tries + 1, due_in=None)
        opened = attempt(n=claimed.tries, hold=claimed.hold, price=claimed.price)
        self.state = Snapshot(claimed, (*self.state.attempts, opened))

    @precondition(lambda self: self.state.attempts)
    @rule(
        data=strategies.data(),
        kind=strategies.sampled_from(sorted(EventKind)),
        proof=strategies.sampled_from([None, *DeliveryProof]),
    )
    def store_due_receipt(
        self, data: strategies.DataObject, kind: EventKind, proof: DeliveryProof | None
    ) -> None:
        its = data.draw(strategies.sampled_from(self.state.attempts))
        if kind in {EventKind.DELIVERED, EventKind.READ}:
            self.proved.add(its.hold)
        event = Event(
            self.state.message.id, its.id, kind, pollable=True, at=AT, code="x", proof=proof
        )
        decision = decide(self.state, [event])
        for before, after in decision.changed_attempts:
            assert before.id == its.id
            assert before.state in OPEN_ATTEMPT or after.state in {before.state, "delivered"}
        self.commit(decision)

    @rule()
    def lose_patience(self) -> None:
        self.commit(fallback_chain.expire_patience(self.state))

    @rule(why=strategies.sampled_from([FallbackReason.CODE_ENTERED, FallbackReason.CLICK]))
    def use(self, why: FallbackReason) -> None:
        decision = fallback_chain.cancel_fallback(unchanged_decision(self.state), why)
        assert decision.message.state not in OPEN_MESSAGE or not decision.message.chain
        self.commit(decision)

    @precondition(lambda self: not self.open_attempts())
    @rule()
    def run_out_of_time(self) -> None:
        self.commit(give_up(self.state))

    @rule(seconds=strategies.floats(0, 100))
    def wait(self, seconds: float) -> None:
        waited = self.message._replace(time_left=self.message.time_left - seconds)
        self.state = self.state._replace(message=waited)

    @rule(tokens=strategies.integers(1, 20))
    def top_up(self, tokens: int) -> None:
        self.available += tokens

    def commit(self, decision: Decision) -> None:
        """Applies the decision like the wallet and the database, and reads it back for the next
        event.
        """
        if decision.fallback:
            decision = self.pay(decision)
        assert decision.changes_message or decision.message == self.message
        self.ledger += decision.settlements
        for each in decision.settlements:
            assert self.holds.pop(each.hold) == each.amount
            self.available += each.amount if each.kind is TransferKind.RELEASE else 0
        self.history.append(decision.message.state)
        self.state = Snapshot(decision.message, decision.attempts)

    def pay(self, decision: Decision) -> Decision:
        assert decision.fallback is not None
        move = fallback_chain.hold_move(decision.message, decision.fallback)
        if self.available + move.old_price < move.new_price:
            return fallback_chain.reject_fallback(decision, decision.fallback)
        assert self.holds.pop(move.hold) == move.old_price
        self.holds[move.hold + 1] = move.new_price
        self.available += move.old_price - move.new_price
        return fallback_chain.accept_fallback(decision, decision.fallback)

    @invariant()
    def state_never_falls(self) -> None:
        ranks = [RANK[state] for state in self.history]
        assert ranks == sorted(ranks)
        assert len(set(self.history) & {"failed", "expired"}) <= 1

    @invariant()
    def one_attempt_is_open_at_most(self) -> None:
        assert len(self.open_attempts()) <= 1

    @invariant()
    def one_hold_is_open_until_it_is_over(self) -> None:
        own = self.message
        is_held = own.state in OPEN_MESSAGE or own.is_owed
        assert self.holds == ({own.hold: own.price} if is_held else {})

    @invariant()
    def what_is_owed_is_in_a_vendor_s_hands(self) -> None:
        if self.message.is_owed:
            assert self.message.state == "delivered"
            assert [attempt_state.hold for attempt_state in self.open_attempts()] == [
                self.message.hold
            ]

    @invariant()
    def charge_needs_proof_of_its_own_hold(self) -> None:
        charged = [entry for entry in self.ledger if entry.kind is TransferKind.CAPTURE]
        assert len(charged) <= 1
        for entry in charged:
            assert entry.proof
            assert entry.hold in self.proved
            assert self.message.state == "delivered"

    @invariant()
    def nothing_is_charged_after_giving_up(self) -> None:
        if set(self.history) & {"failed", "expired"}:
            assert all(entry.kind is TransferKind.RELEASE for entry in self.ledger)

    @invariant()
    def hold_is_settled_once(self) -> None:
        assert max(Counter(entry.hold for entry in self.ledger).values(), default=0) <= 1
        assert self.available >= 0

    @invariant()
    def open_message_is_in_somebody_s_hands(self) -> None:
        if self.message.state in OPEN_MESSAGE:
            assert (self.message.due_in is not None) or self.open_attempts()
        else:
            assert self.message.due_in is None

    @invariant()
    def delivery_is_told(self) -> None:
        if any(attempt_state.state == "delivered" for attempt_state in self.state.attempts):
            assert self.message.state == "delivered"


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=300, stateful_step_count=25, deadline=None)
