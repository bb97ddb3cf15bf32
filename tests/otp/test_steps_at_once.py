"""POST /otp/{id}/next by several calls at once, or alongside another step."""

from collections.abc import Callable
from functools import partial

import pytest

from billing.wallet import ledger
from catalogue import ids
from channels.deliver import sweeps
from channels.lifecycle.state_machine import EventKind
from channels.models import Attempt, Message
from otp import next_channel
from otp.check import settlement
from otp.models import Verification
from tests.api.clients import Api, ApiResponse
from tests.api.races import at_once
from tests.channels.fallback_stages import enable_fallback, fallback_events, transfers
from tests.channels.message_stages import accepted, apply_event, claim
from tests.otp.next_steps import outcome, sent, step
from tests.otp.sent_codes import age_rows, code_of

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("balanced_books"),
]


def test_parallel_requests_take_one_step(api: Api) -> None:
    enable_fallback(api.company, "whatsapp", "telegram", "sms", "max")
    verification = sent(api)

    responses = at_once([partial(step, api, verification)] * 2)

    message = Message.objects.get()
    assert len({outcome(response) for response in responses}) == message.hold - 1
    assert [reason for reason, _channel in fallback_events(message)] == (
        ["requested"] * (message.hold - 1)
    )
    assert ledger.balance(api.company.pk) == (1000 - message.price, message.price)


@pytest.mark.parametrize("chain", [(), ("whatsapp", "telegram", "sms", "max")])
@pytest.mark.usefixtures("no_call_waits")
def test_call_begun_before_step_takes_no_second_step(
    api: Api, monkeypatch: pytest.MonkeyPatch, chain: tuple[str, ...]
) -> None:
    """As those do that waited for a thread in the meantime."""
    if chain:
        enable_fallback(api.company, *chain)
    verification = sent(api)
    began = ids.request_id()
    first = step(api, verification)

    with monkeypatch.context() as patch:
        patch.setattr(ids, "request_id", lambda: began)
        repeated = step(api, verification)
    second = step(api, verification)

    outcomes = [outcome(response) for response in (first, repeated, second)]
    assert outcomes == ["telegram", "telegram", "sms"]
    assert repeated.body["id"] == first.body["id"]


@pytest.mark.usefixtures("no_call_waits")
def test_call_begun_before_the_first_outcome_takes_no_second_step(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row is older than the call: its transaction began before."""
    verification = sent(api)
    claim()
    first = step(api, verification)
    began = ids.request_id()
    claim()
    apply_event(Attempt.objects.get(channel="telegram"), EventKind.ACCEPTED)

    with monkeypatch.context() as patch:
        patch.setattr(ids, "request_id", lambda: began)
        repeated = step(api, verification)

    assert [outcome(first), outcome(repeated)] == ["telegram", "telegram"]
    assert outcome(step(api, verification)) == "sms"


@pytest.mark.usefixtures("no_call_waits")
def test_step_that_commits_while_a_call_looks_for_one_is_its_answer(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    verification = sent(api)
    firsts = []

    def look_for_step(*_args: object) -> None:
        monkeypatch.undo()
        firsts.append(step(api, verification))

    monkeypatch.setattr(next_channel, "_step_of_overlapping_call", look_for_step)
    second = step(api, verification)

    assert [outcome(response) for response in (*firsts, second)] == ["telegram", "telegram"]
    assert Message.objects.count() == 2


@pytest.mark.usefixtures("no_call_waits")
def test_failed_step_is_a_failure_for_a_call_that_overlaps_it(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    verification = sent(api)
    began = ids.request_id()
    step(api, verification)
    claim()
    apply_event(Attempt.objects.get(channel="telegram"), EventKind.REFUSED)

    monkeypatch.setattr(ids, "request_id", lambda: began)
    response = step(api, verification)

    assert (response.status, response.code, response.body["channel"]) == (
        502,
        "delivery_failed",
        "telegram",
    )


def test_call_takes_no_second_step_while_the_first_call_waits(api: Api) -> None:
    """The vendor of the first step is slow, and the person presses the button again."""
    verification = sent(api)

    waiting = [step(api, verification) for _ in range(3)]
    age_rows(seconds=11)
    late = step(api, verification)
    claim()
    apply_event(Attempt.objects.get(channel="sms"), EventKind.ACCEPTED)
    taken = step(api, verification)

    assert [*map(outcome, waiting)] == ["telegram"] * 3
    assert len({response.body["id"] for response in waiting}) == 1
    assert [outcome(late), outcome(taken)] == ["sms", "max"]


def test_several_at_once_without_a_chain_are_one_message_each(api: Api) -> None:
    verification = sent(api)

    responses = at_once([partial(step, api, verification)] * 6)

    assert {response.status for response in responses} <= {200, 422, 503}
    channels = list(Message.objects.values_list("channel", flat=True))
    assert len(channels) == len(set(channels))
    assert Verification.objects.count() == 1


def test_test_mode_sends_one_message_by_each_channel(test_api: Api) -> None:
    """No cool-down holds these, so only the lock keeps them apart."""
    verification = sent(test_api)

    at_once([partial(step, test_api, verification)] * 6)

    channels = list(Message.objects.values_list("channel", flat=True))
    assert len(channels) == len(set(channels)) > 1


def test_step_and_the_sweep_at_once_use_no_channel_twice(api: Api) -> None:
    """The step is a message of its own if it comes first: a vendor may have the code."""
    enable_fallback(api.company, "whatsapp", "telegram", "sms", "max")
    for n in range(6):
        phone = f"+7916111{n:04d}"
        message = accepted(api, phone).message
        Message.objects.filter(pk=message.pk).update(fallback_at=message.created_at)
        verification = str(Verification.objects.get(pk=message.subject_id))
        calls: list[Callable[[], object]] = [
            sweeps.fall_back,
            partial(step, api, verification),
        ]

        at_once(calls)
        sweeps.fall_back()  # the first one leaves a message alone that the step has locked

        message.refresh_from_db()
        assert transfers(message)[:2] == [("hold", 1, ""), ("release", 1, "patience")]
        channels = list(Message.objects.filter(phone=phone).values_list("channel", flat=True))
        assert len(channels) == len(set(channels)) <= 2


def test_step_and_a_resend_at_once_are_one_message_each(api: Api) -> None:
    for n in range(6):
        phone = f"+7916222{n:04d}"
        verification = sent(api, phone=phone)
        age_rows(seconds=61)
        calls: list[Callable[[], ApiResponse]] = [
            partial(step, api, verification),
            partial(api.post, "/otp/send", {"phone": phone}),
        ]

        responses = at_once(calls)

        assert [response.status for response in responses] == [200, 200]
        messages = Message.objects.filter(phone=phone).order_by("id")
        assert sorted(row.channel for row in messages) == ["telegram", "whatsapp", "whatsapp"]
        assert len({row.subject_id for row in messages}) == 1


def test_concurrent_step_loses_no_correct_code(api: Api) -> None:
    enable_fallback(api.company, "whatsapp", "sms")
    for n in range(6):
        phone = f"+7916333{n:04d}"
        attempt = accepted(api, phone)
        verification = str(Verification.objects.get(pk=attempt.message.subject_id))
        calls: list[Callable[[], ApiResponse]] = [
            partial(step, api, verification),
            partial(api.post, "/otp/verify", {"phone": phone, "code": code_of(phone)}),
        ]

        stepped, verified = at_once(calls)
        settlement.settle_verified()

        assert verified.status == 200
        assert stepped.status == 200 or stepped.code in {"code_used", "code_expired"}
        attempt.message.refresh_from_db()
        assert attempt.message.state == "delivered"
        captures = [row for row in transfers(attempt.message) if row[0] == "capture"]
        assert len(captures) <= 1
        assert claim() == []
