"""Along the chain: who wishes to go on, what going on does, what calls it off. No database."""

from collections.abc import Callable

import pytest

from billing.wallet.ledger import Kind, Proof
from channels.lifecycle import fallback_chain
from channels.lifecycle.state_machine import LEAST_TIME, Attempt, Message, What, give_up
from channels.lifecycle.steps import Step, Why, Wish
from tests.channels.lifecycle.test_state_machine import AT, attempt, happen, kinds, message

TELEGRAM, SMS = Step("telegram", 1, 45.0), Step("sms", 16, 20.0)


def refused(what: What = What.REFUSED, **fields: object) -> tuple[Message, Attempt]:
    """By WhatsApp, with an SMS behind it."""
    one = message(**{"chain": [SMS]} | fields)
    its = attempt(channel="whatsapp", price=1)
    happen(what, one, its, code="x")
    return one, its


def moved(why: Why = Why.PATIENCE, state: str = "sent") -> tuple[Message, Attempt]:
    """From WhatsApp to an SMS that nobody has claimed yet, as the database would give it back."""
    its = attempt(channel="whatsapp", price=1, state=state)
    one = message(state="sent", chain=[SMS], attempts=[its])
    fallback_chain.go_on(one, Wish(why))
    one.turns, one.changed, its.changed = [], False, False
    return one, its


def tried(**fields: object) -> tuple[Message, Attempt, Attempt]:
    """The same, the SMS in the vendor's hands."""
    one, first = moved()
    one.tries, one.due_in = 2, None
    second = attempt(**{"n": 2, "hold": 2, "state": "sent", "channel": "sms", "price": 16} | fields)
    one.attempts.append(second)
    return one, first, second


@pytest.mark.parametrize("what", [What.UNREACHABLE, What.REFUSED, What.EXPIRED])
def test_what_is_not_delivered_wishes_for_the_next_channel(what: What) -> None:
    one, its = refused(what)

    assert one.wish is not None
    assert (one.wish.why, one.state, one.settlements) == (Why.REFUSED, "queued", [])
    assert its.state == ("expired" if what is What.EXPIRED else "failed")


@pytest.mark.parametrize("what", [What.ACCEPTED, What.AMBIGUOUS, What.RETRY, What.NO_NEWS])
def test_what_may_be_delivered_yet_stays(what: What) -> None:
    one, _its = refused(what)

    assert one.wish is None


@pytest.mark.parametrize("what", [What.UNREACHABLE, What.GIVEN_UP])
def test_too_late_for_another_channel(what: What) -> None:
    one, _its = refused(what, time_left=LEAST_TIME)

    assert (one.wish, one.state in {"failed", "expired"}) == (None, True)


def test_deadline_is_no_reason_to_go_on() -> None:
    one, _its = refused(What.GIVEN_UP)

    assert (one.wish, one.state) == (None, "expired")


def test_going_on() -> None:
    one, its = refused()
    assert one.wish is not None

    fallback_chain.go_on(one, one.wish)

    assert (one.state, one.channel, one.price, one.hold) == ("queued", "sms", 16, 2)
    assert (one.due_in, one.fallback_in, one.chain) == (0.0, 20.0, [])
    assert (one.turns, its.state) == ([(Why.REFUSED, "sms")], "failed")


@pytest.mark.parametrize("state", ["submitting", "ambiguous", "sent"])
def test_patience_ends_the_try_that_is_open(state: str) -> None:
    its = attempt(state=state)
    one = message(state="sent", chain=[TELEGRAM, SMS], attempts=[its])
    fallback_chain.lose_patience(one)
    assert one.wish == Wish(Why.PATIENCE)

    fallback_chain.go_on(one, one.wish)

    assert (its.state, its.error_class, its.changed) == ("expired", "patience", True)
    assert (one.state, one.channel, one.chain) == ("sent", "telegram", [SMS])


def test_patience_moves_what_was_never_handed_over() -> None:
    one = message(tries=0, chain=[SMS], due_in=2.0)

    fallback_chain.lose_patience(one)

    assert one.wish == Wish(Why.PATIENCE)


@pytest.mark.parametrize("fields", [{"state": "delivered"}, {"state": "failed"}, {"chain": []}])
def test_patience_with_what_is_over_or_has_no_chain(fields: dict[str, object]) -> None:
    one = message(**{"chain": [SMS]} | fields)

    fallback_chain.lose_patience(one)

    assert (one.wish, one.changed) == (None, False)


def test_patience_with_what_is_of_no_use_any_more() -> None:
    one = message(state="sent", chain=[SMS], time_left=LEAST_TIME)

    fallback_chain.lose_patience(one)

    assert (one.wish, one.chain, one.turns) == (None, [], [(Why.TIME, "sms")])
    assert (one.state, one.settlements) == ("sent", [])


def test_no_tokens_for_patience_leaves_the_try_as_it_is() -> None:
    its = attempt(state="sent")
    one = message(state="sent", chain=[SMS], attempts=[its])

    fallback_chain.stay(one, Wish(Why.PATIENCE))

    assert (one.state, its.state, one.settlements) == ("sent", "sent", [])
    assert (one.chain, one.turns) == ([], [(Why.TOKENS, "sms")])


@pytest.mark.parametrize(
    ("what", "error"),
    [(What.UNREACHABLE, "recipient_unreachable"), (What.REFUSED, "delivery_failed")],
)
def test_no_tokens_after_a_refusal_is_the_end_the_refusal_says(what: What, error: str) -> None:
    one, _its = refused(what)
    assert one.wish is not None

    fallback_chain.stay(one, one.wish)

    assert (one.state, one.error, kinds(one)) == ("failed", error, [(Kind.RELEASE, "", "failed")])
    assert one.turns == [(Why.TOKENS, "sms")]


@pytest.mark.parametrize(
    ("first", "second", "error"),
    [
        ("unreachable", What.UNREACHABLE, "recipient_unreachable"),
        ("refused", What.UNREACHABLE, "delivery_failed"),
        ("patience", What.UNREACHABLE, "delivery_failed"),
        ("unreachable", What.REFUSED, "delivery_failed"),
    ],
)
def test_unreachable_is_who_no_channel_reaches(first: str, second: What, error: str) -> None:
    one, before, its = tried(state="submitting")
    before.error_class = first

    happen(second, one, its)

    assert (one.state, one.error) == ("failed", error)


def test_only_the_last_word_of_a_channel_counts() -> None:
    earlier = attempt(n=1, state="failed", error_class="retry")
    last = attempt(n=2, state="failed", error_class="unreachable")
    its = attempt(n=3, hold=2)
    one = message(tries=3, hold=2, attempts=[earlier, last, its])

    happen(What.UNREACHABLE, one, its)

    assert one.error == "recipient_unreachable"


def test_tries_are_counted_by_channel() -> None:
    its = attempt(n=9, hold=2)
    one = message(tries=9, hold=2, attempts=[attempt(n=8, state="failed"), its])

    happen(What.RETRY, one, its)

    assert (one.state, one.due_in is not None) == ("queued", True)


@pytest.mark.parametrize("what", sorted(set(What) - {What.DELIVERED, What.READ}))
@pytest.mark.parametrize("state", ["failed", "expired"])
def test_word_of_a_channel_that_was_left_says_nothing_of_the_next(what: What, state: str) -> None:
    one, its = moved()
    its.state = state

    happen(what, one, its)

    assert (one.state, one.due_in, one.settlements, one.changed) == ("sent", 0.0, [], False)


@pytest.mark.parametrize(
    ("proof", "why"),
    [(Proof.RECEIPT, Why.LATE), (Proof.CODE_ENTERED, Why.CODE_ENTERED), (Proof.CLICK, Why.CLICK)],
)
def test_late_proof_calls_off_the_next_and_is_free(proof: Proof, why: Why) -> None:
    one, its = moved()

    happen(What.DELIVERED, one, its, proof=proof, at=AT)

    assert (one.state, one.channel, one.price, one.due_in) == ("delivered", "whatsapp", 1, None)
    assert [(s.kind, s.hold, s.amount) for s in one.settlements] == [(Kind.RELEASE, 2, 16)]
    assert (one.turns, one.is_owed) == ([(why, "sms")], False)


@pytest.mark.parametrize("state", ["submitting", "ambiguous", "sent"])
def test_late_proof_leaves_what_a_vendor_has_already(state: str) -> None:
    one, first, _second = tried(state=state)

    happen(What.DELIVERED, one, first)

    assert (one.state, one.is_owed, one.settlements) == ("delivered", True, [])
    assert (one.channel, one.price, one.turns) == ("sms", 16, [(Why.OWED, "sms")])


@pytest.mark.parametrize(
    ("what", "money"),
    [
        (What.DELIVERED, (Kind.CAPTURE, 2, 16, "receipt")),
        (What.READ, (Kind.CAPTURE, 2, 16, "receipt")),
        (What.REFUSED, (Kind.RELEASE, 2, 16, "")),
        (What.UNREACHABLE, (Kind.RELEASE, 2, 16, "")),
        (What.RETRY, (Kind.RELEASE, 2, 16, "")),
        (What.EXPIRED, (Kind.RELEASE, 2, 16, "")),
        (What.GIVEN_UP, (Kind.RELEASE, 2, 16, "")),
    ],
)
def test_what_is_owed_is_settled_by_its_own_try(
    what: What, money: tuple[Kind, int, int, str]
) -> None:
    one, first, second = tried()
    second.state = "submitting"
    happen(What.DELIVERED, one, first)

    happen(what, one, second)
    happen(what, one, second)

    assert [(s.kind, s.hold, s.amount, s.proof) for s in one.settlements] == [money]
    assert (one.state, one.is_owed, one.due_in) == ("delivered", False, None)


def test_what_is_owed_waits_for_the_try_that_is_on_its_way() -> None:
    one, first, second = tried(state="failed")
    third = attempt(n=3, hold=2, state="sent")
    one.tries = 3
    one.attempts.append(third)
    happen(What.DELIVERED, one, first)

    happen(What.EXPIRED, one, second)

    assert (one.is_owed, one.settlements) == (True, [])


def test_read_of_the_first_does_not_charge_what_is_owed() -> None:
    one, first, _second = tried()

    happen(What.DELIVERED, one, first)
    happen(What.READ, one, first, at=AT)

    assert (one.is_owed, one.settlements, one.read_at) == (True, [], AT)


def test_proof_in_the_same_breath_as_the_refusal_charges() -> None:
    one, its = refused()

    happen(What.DELIVERED, one, its)

    assert (one.wish, one.state, kinds(one)) == (
        None,
        "delivered",
        [(Kind.CAPTURE, "receipt", "")],
    )


def in_hand() -> Message:
    return message(state="sent", chain=[SMS], attempts=[attempt(state="sent")])


def waiting_for_its_first_try() -> Message:
    return message(tries=0, chain=[SMS], due_in=0.0)


@pytest.mark.parametrize("make", [in_hand, waiting_for_its_first_try])
def test_calling_off_ends_the_chain_not_the_message(make: Callable[[], Message]) -> None:
    one = make()
    due_in = one.due_in

    fallback_chain.call_off(one, Why.CODE_ENTERED)

    assert (one.chain, one.turns) == ([], [(Why.CODE_ENTERED, "sms")])
    assert (one.state in {"queued", "sent"}, one.due_in, one.settlements) == (True, due_in, [])


def test_calling_off_a_step_that_nobody_took() -> None:
    one, _its = moved()

    fallback_chain.call_off(one, Why.CLICK)

    assert (one.state, one.due_in, one.turns) == ("expired", None, [(Why.CLICK, "sms")])
    assert kinds(one) == [(Kind.RELEASE, "", "click")]


def test_calling_off_leaves_what_a_vendor_has_and_what_is_over() -> None:
    with_vendor, _first, _second = tried()
    over = message(state="delivered", chain=[SMS])

    for one in (with_vendor, over):
        fallback_chain.call_off(one, Why.CODE_ENTERED)
        assert (one.changed, one.turns, one.settlements) == (False, [], [])


def test_giving_up_what_went_on_releases_the_hold_it_has_now() -> None:
    one, _its = moved()

    give_up(one)

    assert [(s.hold, s.amount) for s in one.settlements] == [(2, 16)]
