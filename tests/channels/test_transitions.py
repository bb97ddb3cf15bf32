"""What events do to a message, an attempt and a hold, in any order they may come."""

from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from hypothesis import settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from billing.ledger import Kind, Proof, Settlement
from channels.transitions import (
    LEAST_TIME,
    MAX_TRIES,
    OPEN_ATTEMPT,
    OPEN_MESSAGE,
    Attempt,
    Event,
    Message,
    What,
    apply,
    give_up,
)

AT = datetime(2026, 1, 31, 10, 0, tzinfo=UTC)
RANK = {"queued": 0, "sent": 1, "failed": 2, "expired": 2, "delivered": 3}


def message(**fields: object) -> Message:
    made = Message(
        id=uuid4(),
        company_id=1,
        mode="live",
        kind="code",
        channel="whatsapp",
        chain=[],
        phone="+79161234567",
        state="queued",
        error="",
        tries=1,
        hold=1,
        price=1,
        time_left=300.0,
        subject_id=uuid4(),
    )
    return replace(made, **fields)  # type: ignore[arg-type]


def attempt(**fields: object) -> Attempt:
    made = Attempt(
        id=uuid4(),
        n=1,
        hold=1,
        state="submitting",
        provider="whatsapp_cloud",
        provider_id=None,
        polls=0,
    )
    return replace(made, **fields)  # type: ignore[arg-type]


def happen(what: What, to: Message, of: Attempt, **fields: object) -> None:
    apply(to, of, Event(of.id, what, **fields))  # type: ignore[arg-type]


def kinds(of: Message) -> list[tuple[Kind, str, str]]:
    return [(one.kind, one.proof, one.reason) for one in of.settlements]


@pytest.mark.parametrize(
    ("what", "message_state", "attempt_state", "money"),
    [
        (What.ACCEPTED, "sent", "sent", []),
        (What.DELIVERED, "delivered", "delivered", [(Kind.CAPTURE, "receipt", "")]),
        (What.READ, "delivered", "delivered", [(Kind.CAPTURE, "receipt", "")]),
        (What.UNREACHABLE, "failed", "failed", [(Kind.RELEASE, "", "failed")]),
        (What.REFUSED, "failed", "failed", [(Kind.RELEASE, "", "failed")]),
        (What.RETRY, "queued", "failed", []),
        (What.AMBIGUOUS, "queued", "ambiguous", []),
        (What.EXPIRED, "expired", "expired", [(Kind.RELEASE, "", "expired")]),
        (What.GIVEN_UP, "expired", "expired", [(Kind.RELEASE, "", "expired")]),
        (What.NO_NEWS, "queued", "submitting", []),
    ],
)
def test_first_event_of_an_attempt(
    what: What, message_state: str, attempt_state: str, money: list[tuple[Kind, str, str]]
) -> None:
    one, its = message(), attempt()

    happen(what, one, its)

    assert (one.state, its.state, kinds(one)) == (message_state, attempt_state, money)


@pytest.mark.parametrize(
    ("what", "error"),
    [(What.UNREACHABLE, "recipient_unreachable"), (What.REFUSED, "delivery_failed"),
     (What.EXPIRED, "delivery_failed"), (What.GIVEN_UP, "")],
)  # fmt: skip
def test_why_it_ended(what: What, error: str) -> None:
    one, its = message(), attempt()

    happen(what, one, its, code="131026", detail="x" * 400)

    assert one.error == error
    assert (its.error_class, its.error_code, its.error_detail) == (what.value, "131026", "x" * 300)


@pytest.mark.parametrize("state", ["failed", "expired"])
@pytest.mark.parametrize("what", [What.DELIVERED, What.READ])
def test_late_delivery_wins_and_charges_nothing(state: str, what: What) -> None:
    one, its = message(state=state, error="delivery_failed"), attempt(state=state)

    happen(what, one, its, at=AT)

    assert (one.state, one.error, its.state) == ("delivered", "", "delivered")
    assert (one.at, one.settlements) == (AT, [])


@pytest.mark.parametrize("state", ["failed", "expired", "delivered"])
@pytest.mark.parametrize("what", sorted(set(What) - {What.DELIVERED, What.READ}))
def test_what_is_over_stays_over(state: str, what: What) -> None:
    one, its = message(state=state), attempt(state=state)

    happen(what, one, its)

    assert (one.state, its.state, one.settlements, one.changed) == (state, state, [], False)


FAULTS = [What.REFUSED, What.UNREACHABLE, What.RETRY]


@pytest.mark.parametrize("what", FAULTS)
def test_message_that_another_account_can_carry_is_due_there_at_once(what: What) -> None:
    one, its = message(), attempt()

    happen(what, one, its, elsewhere=True, code="20003", retry_after=60.0)

    assert (one.state, one.due_in, one.hold, one.settlements) == ("queued", 0.0, 1, [])
    assert (its.state, its.error_code) == ("failed", "20003")


@pytest.mark.parametrize("what", FAULTS)
@pytest.mark.parametrize(
    "fields",
    [{"time_left": LEAST_TIME}, {"tries": MAX_TRIES}, {"tries": 2}, {"state": "delivered"}],
)
def test_message_that_is_beyond_another_try_goes_nowhere(
    what: What, fields: dict[str, object]
) -> None:
    its = attempt(n=MAX_TRIES if fields.get("tries") == MAX_TRIES else 1)
    moved, stayed = message(**fields), message(**fields)

    happen(what, moved, its, elsewhere=True)
    happen(what, stayed, replace(its, state="submitting"))

    assert (moved.state, moved.due_in is None) == (stayed.state, stayed.due_in is None)


def test_what_was_taken_is_not_given_to_another_account() -> None:
    one, its = message(state="sent"), attempt(state="sent")

    happen(What.REFUSED, one, its, elsewhere=True)

    assert (one.state, one.due_in) == ("failed", None)


def test_read_is_delivered_with_a_second_time() -> None:
    one, its = message(state="delivered"), attempt(state="delivered")

    happen(What.READ, one, its, at=AT)

    assert (one.state, one.read_at, one.settlements) == ("delivered", AT, [])


def test_proof_by_hand_over_and_by_an_entered_code() -> None:
    for proof in (Proof.HANDED_OVER, Proof.CODE_ENTERED, Proof.CLICK):
        one, its = message(), attempt()

        happen(What.DELIVERED, one, its, proof=proof)

        assert kinds(one) == [(Kind.CAPTURE, proof, "")]


def test_provider_id_is_learned_once() -> None:
    one, its = message(), attempt()

    happen(What.AMBIGUOUS, one, its, provider_id="a")
    happen(What.ACCEPTED, one, its, provider_id="b")

    assert its.provider_id == "a"


def test_retry_waits_with_jitter_and_no_less_than_was_asked() -> None:
    waits = []
    for _ in range(50):
        one = message(time_left=3000.0)
        happen(What.RETRY, one, attempt(n=1), retry_after=None)
        waits.append(one.due_in or 0.0)
    asked = message(time_left=3000.0)
    happen(What.RETRY, asked, attempt(), retry_after=60.0)

    assert all(0 <= wait <= 1.0 for wait in waits)
    assert len(set(waits)) > 40
    assert asked.due_in == 60.0


@pytest.mark.parametrize(
    ("fields", "retry_after"),
    [({"tries": MAX_TRIES}, None), ({"time_left": LEAST_TIME}, None), ({"time_left": 80.0}, 60.0)],
)
def test_retry_that_makes_no_sense_is_a_failure(
    fields: dict[str, float], retry_after: float | None
) -> None:
    one = message(**fields)

    happen(What.RETRY, one, attempt(n=one.tries), retry_after=retry_after)

    assert (one.state, one.error, one.due_in) == ("failed", "delivery_failed", None)
    assert kinds(one) == [(Kind.RELEASE, "", "failed")]


@pytest.mark.parametrize("what", [What.UNREACHABLE, What.REFUSED])
def test_refusal_falls_back_along_the_chain(what: What) -> None:
    one, its = message(price=0, chain=["telegram", "sms"]), attempt()

    happen(what, one, its)

    assert (one.state, one.channel, one.chain) == ("queued", "telegram", ["sms"])
    assert (one.due_in, one.hold) == (0.0, 2)


def test_fall_back_needs_time() -> None:
    one = message(price=0, chain=["telegram"], time_left=LEAST_TIME)

    happen(What.UNREACHABLE, one, attempt())

    assert one.state == "failed"


def test_message_that_was_sent_does_not_go_back_to_queued() -> None:
    one, its = message(price=0, chain=["telegram"]), attempt()
    happen(What.ACCEPTED, one, its)

    happen(What.UNREACHABLE, one, its)

    assert (one.state, one.channel, one.due_in) == ("sent", "telegram", 0.0)


def test_late_word_of_a_refused_try_does_not_call_off_the_next() -> None:
    one, its = message(price=0, chain=["telegram"]), attempt()
    happen(What.UNREACHABLE, one, its)
    one.changed = False

    happen(What.ACCEPTED, one, its)

    assert (one.state, one.channel, its.state) == ("queued", "telegram", "failed")
    assert not one.changed


def test_late_proof_of_an_earlier_channel_charges_nothing() -> None:
    one, its = message(chain=["telegram"]), attempt()
    happen(What.UNREACHABLE, one, its)

    happen(What.DELIVERED, one, its)

    assert one.state == "delivered"
    assert kinds(one) == [(Kind.RELEASE, "", "late proof")]


def test_give_up_of_a_message_that_is_over_changes_nothing() -> None:
    one = message(state="delivered")

    give_up(one)

    assert (one.state, one.settlements) == ("delivered", [])


@pytest.mark.parametrize(
    ("polls", "wait"), [(0, 20.0), (1, 40.0), (2, 80.0), (3, 120.0), (9, 120.0)]
)
def test_polls_grow_rarer(polls: int, wait: float) -> None:
    one, its = message(state="sent"), attempt(state="sent", polls=polls)

    happen(What.NO_NEWS, one, its)

    assert (its.polls, its.poll_in) == (polls + 1, wait)


class Life(RuleBasedStateMachine):
    """One message and its attempts, through events in any order, twice, late or never."""

    @initialize(chain=strategies.lists(strategies.sampled_from(["telegram", "sms"]), max_size=2))
    def accept(self, chain: list[str]) -> None:
        # A chain costs nothing yet: only test keys have one.
        self.message = message(tries=0, chain=chain, price=0 if chain else 1)
        self.is_due = True
        self.attempts: list[Attempt] = []
        self.ledger: list[Settlement] = []
        self.history = ["queued"]
        self.proved: set[int] = set()

    def open_attempts(self) -> list[Attempt]:
        return [one for one in self.attempts if one.state in OPEN_ATTEMPT]

    @precondition(lambda self: self.is_due and not self.open_attempts())
    @rule()
    def claim(self) -> None:
        self.message.tries += 1
        self.attempts.append(attempt(n=self.message.tries, hold=self.message.hold))
        self.is_due = False

    @precondition(lambda self: self.attempts)
    @rule(data=strategies.data(), what=strategies.sampled_from(sorted(What)))
    def hear(self, data: strategies.DataObject, what: What) -> None:
        its = data.draw(strategies.sampled_from(self.attempts))
        if what in {What.DELIVERED, What.READ}:
            self.proved.add(its.hold)
        before = replace(its)
        apply(self.message, its, Event(its.id, what, pollable=True, at=AT))
        if before.state not in OPEN_ATTEMPT:
            assert its.state in {before.state, "delivered"}
        self.commit()

    @precondition(lambda self: not self.open_attempts())
    @rule()
    def lose_patience(self) -> None:
        give_up(self.message)
        self.commit()

    @rule(seconds=strategies.floats(0, 100))
    def wait(self, seconds: float) -> None:
        self.message.time_left -= seconds

    def commit(self) -> None:
        """What the database would keep, and read back for the next event."""
        if self.message.changed:
            self.is_due = self.message.due_in is not None
        self.ledger += self.message.settlements
        self.history.append(self.message.state)
        self.message = replace(
            self.message, changed=False, due_in=None, at=None, read_at=None, settlements=[]
        )

    @invariant()
    def state_never_falls(self) -> None:
        ranks = [RANK[state] for state in self.history]
        assert ranks == sorted(ranks)
        assert len(set(self.history) & {"failed", "expired"}) <= 1

    @invariant()
    def one_attempt_is_open_at_most(self) -> None:
        assert len(self.open_attempts()) <= 1

    @invariant()
    def hold_is_settled_exactly_when_it_is_over(self) -> None:
        holds = [one.hold for one in self.ledger]
        assert len(holds) == len(set(holds))
        assert (self.message.hold in holds) is (self.message.state not in OPEN_MESSAGE)

    @invariant()
    def charge_needs_proof_of_its_own_hold(self) -> None:
        charged = [one for one in self.ledger if one.kind is Kind.CAPTURE]
        assert len(charged) <= 1
        for one in charged:
            assert one.proof
            assert one.hold in self.proved
            assert self.message.state == "delivered"

    @invariant()
    def nothing_is_charged_after_giving_up(self) -> None:
        if set(self.history) & {"failed", "expired"}:
            assert all(one.kind is Kind.RELEASE for one in self.ledger)

    @invariant()
    def open_message_is_in_somebody_s_hands(self) -> None:
        if self.message.state in OPEN_MESSAGE:
            assert self.is_due or self.open_attempts()

    @invariant()
    def delivery_is_told(self) -> None:
        if any(one.state == "delivered" for one in self.attempts):
            assert self.message.state == "delivered"


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=200, stateful_step_count=20, deadline=None)
