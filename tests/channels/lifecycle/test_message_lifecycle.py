"""A stateful test: one message, its attempts and the wallet through random events."""

from collections import Counter
from dataclasses import replace

from hypothesis import settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from billing.wallet.ledger import DeliveryProof, Settlement, TransferKind
from channels.lifecycle import fallback_chain
from channels.lifecycle.state_machine import (
    OPEN_ATTEMPT,
    OPEN_MESSAGE,
    AttemptState,
    Event,
    EventKind,
    apply,
    give_up,
)
from channels.lifecycle.steps import FallbackReason, Step
from tests.channels.lifecycle.test_state_machine import AT, attempt, message

RANK = {"queued": 0, "sent": 1, "failed": 2, "expired": 2, "delivered": 3}
STEPS = [Step("telegram", 1, 30.0), Step("sms", 16, 30.0)]


class Life(RuleBasedStateMachine):
    """Twice, late or never: what is said comes in any order, and tokens may not suffice."""

    @initialize(
        steps=strategies.lists(strategies.sampled_from(STEPS), max_size=3),
        tokens=strategies.integers(0, 40),
    )
    def accept(self, steps: list[Step], tokens: int) -> None:
        self.message = message(tries=0, chain=steps, due_in=0.0)
        self.available, self.holds = tokens, {1: 1}
        self.ledger: list[Settlement] = []
        self.history = ["queued"]
        self.proved: set[int] = set()

    def open_attempts(self) -> list[AttemptState]:
        return [one for one in self.message.attempts if one.state in OPEN_ATTEMPT]

    @precondition(lambda self: self.message.due_in is not None and not self.open_attempts())
    @rule()
    def claim(self) -> None:
        one = self.message
        one.tries += 1
        one.attempts.append(attempt(n=one.tries, hold=one.hold, price=one.price))
        one.due_in = None

    @precondition(lambda self: self.message.attempts)
    @rule(
        data=strategies.data(),
        kind=strategies.sampled_from(sorted(EventKind)),
        proof=strategies.sampled_from([None, *DeliveryProof]),
    )
    def hear(
        self, data: strategies.DataObject, kind: EventKind, proof: DeliveryProof | None
    ) -> None:
        its = data.draw(strategies.sampled_from(self.message.attempts))
        if kind in {EventKind.DELIVERED, EventKind.READ}:
            self.proved.add(its.hold)
        before = its.state
        apply(self.message, its, Event(its.id, kind, pollable=True, at=AT, code="x", proof=proof))
        if before not in OPEN_ATTEMPT:
            assert its.state in {before, "delivered"}
        self.commit()

    @rule()
    def lose_patience(self) -> None:
        fallback_chain.expire_patience(self.message)
        self.commit()

    @rule(why=strategies.sampled_from([FallbackReason.CODE_ENTERED, FallbackReason.CLICK]))
    def use(self, why: FallbackReason) -> None:
        fallback_chain.cancel_fallback(self.message, why)
        assert self.message.state not in OPEN_MESSAGE or not self.message.chain
        self.commit()

    @precondition(lambda self: not self.open_attempts())
    @rule()
    def run_out_of_time(self) -> None:
        give_up(self.message)
        self.commit()

    @rule(seconds=strategies.floats(0, 100))
    def wait(self, seconds: float) -> None:
        self.message.time_left -= seconds

    @rule(tokens=strategies.integers(1, 20))
    def top_up(self, tokens: int) -> None:
        self.available += tokens

    def commit(self) -> None:
        """What the wallet and the database would make of it, read back for the next event."""
        one = self.message
        if one.fallback_request:
            self.decide()
        self.ledger += one.settlements
        for each in one.settlements:
            assert self.holds.pop(each.hold) == each.amount
            self.available += each.amount if each.kind is TransferKind.RELEASE else 0
        self.history.append(one.state)
        self.message = replace(
            one,
            changed=False,
            fallback_request=None,
            fallback_in=None,
            fallback_events=[],
            settlements=[],
        )

    def decide(self) -> None:
        one = self.message
        assert one.fallback_request is not None
        move = fallback_chain.hold_move(one, one.fallback_request)
        if self.available + move.old < move.new:
            return fallback_chain.reject_fallback(one, one.fallback_request)
        assert self.holds.pop(move.hold) == move.old
        self.holds[move.hold + 1] = move.new
        self.available += move.old - move.new
        return fallback_chain.accept_fallback(one, one.fallback_request)

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
        one = self.message
        is_held = one.state in OPEN_MESSAGE or one.is_owed
        assert self.holds == ({one.hold: one.price} if is_held else {})

    @invariant()
    def what_is_owed_is_in_a_vendor_s_hands(self) -> None:
        if self.message.is_owed:
            assert self.message.state == "delivered"
            assert [one.hold for one in self.open_attempts()] == [self.message.hold]

    @invariant()
    def charge_needs_proof_of_its_own_hold(self) -> None:
        charged = [one for one in self.ledger if one.kind is TransferKind.CAPTURE]
        assert len(charged) <= 1
        for one in charged:
            assert one.proof
            assert one.hold in self.proved
            assert self.message.state == "delivered"

    @invariant()
    def nothing_is_charged_after_giving_up(self) -> None:
        if set(self.history) & {"failed", "expired"}:
            assert all(one.kind is TransferKind.RELEASE for one in self.ledger)

    @invariant()
    def hold_is_settled_once(self) -> None:
        assert max(Counter(one.hold for one in self.ledger).values(), default=0) <= 1
        assert self.available >= 0

    @invariant()
    def open_message_is_in_somebody_s_hands(self) -> None:
        if self.message.state in OPEN_MESSAGE:
            assert (self.message.due_in is not None) or self.open_attempts()
        else:
            assert self.message.due_in is None

    @invariant()
    def delivery_is_told(self) -> None:
        if any(one.state == "delivered" for one in self.message.attempts):
            assert self.message.state == "delivered"


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=300, stateful_step_count=25, deadline=None)
