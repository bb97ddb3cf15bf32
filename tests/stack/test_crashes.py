"""Processes of a whole stack are killed: nothing is sent twice or charged wrongly."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from channels.models import Attempt, Message
from tests.stack.programs import wait_until
from tests.stack.sender import Sender
from tests.stack.stack import TOKENS, Outcome, Stack, expire

OK = 200
CONFLICT = 409


def test_worker_killed_before_call_sends_and_charges_nothing(stack: Stack, sender: Sender) -> None:
    phone = stack.phone()
    attempt = Attempt.objects.filter(message__phone=phone)
    stack.start_worker_that_dies_at("call")

    sent = sender.send_code(phone)
    stack.worker.wait_stopped()

    assert (sent.status_code, sent.json()["status"]) == (OK, "queued")
    assert attempt.get().state == "submitting"
    expire(attempt, "lease_until")
    stack.worker.start()
    wait_until(lambda: attempt.get().state == "ambiguous")
    assert sender.balance() == (TOKENS - 1, 1)
    expire(Message.objects.filter(phone=phone), "deadline")
    assert stack.ending(phone) == Outcome(["expired"], charged=0, copies=0)
    assert sender.balance() == (TOKENS, 0)
    assert attempt.count() == 1


def test_worker_killed_after_call_is_corrected_by_receipt(stack: Stack, sender: Sender) -> None:
    phone = stack.phone()
    stack.start_worker_that_dies_at("outcome")

    sent = sender.send_code(phone)
    stack.replace_dead_worker()

    assert (sent.status_code, sent.json()["status"]) == (OK, "queued")
    assert stack.ending(phone) == Outcome(["delivered"], charged=1, copies=1)
    assert sender.balance() == (TOKENS - 1, 0)


def test_worker_killed_between_outcome_and_signal_has_its_outcome_read(
    stack: Stack, sender: Sender
) -> None:
    phone = stack.phone()
    stack.carrier.set_fault("late_receipt", phone=phone, latency_ms=1000)
    stack.start_worker_that_dies_at("signal")

    sent = sender.send_code(phone)
    stack.replace_dead_worker()

    assert (sent.status_code, sent.json()["status"]) == (OK, "sent")
    assert stack.ending(phone) == Outcome(["delivered"], charged=1, copies=1)


def test_worker_killed_awaiting_vendors_resends_nothing(
    stack: Stack, sender: Sender, threads: ThreadPoolExecutor
) -> None:
    phones = stack.phones(6)
    stack.carrier.set_fault(latency_ms=1500)
    stack.carrier.set_fault("late_receipt", latency_ms=1000)

    sending = [threads.submit(sender.send_code, phone) for phone in phones]
    wait_until(lambda: all(stack.carrier.messages(phone) for phone in phones))
    stack.worker.kill()
    stack.worker.start()

    assert {future.result().status_code for future in sending} == {OK}
    assert stack.endings(phones) == [Outcome(["delivered"], charged=1, copies=1)] * len(phones)
    assert sender.balance() == (TOKENS - len(phones), 0)


def test_repeat_after_web_kill_is_answered_from_stored_send(
    stack: Stack, sender: Sender, threads: ThreadPoolExecutor
) -> None:
    phone = stack.phone()
    stack.carrier.set_fault(phone=phone, latency_ms=1500)
    lost = threads.submit(sender.send_code, phone, idempotency_key="order-77")
    wait_until(lambda: bool(stack.carrier.messages(phone)))

    stack.web.kill()
    with pytest.raises(requests.ConnectionError):
        lost.result()
    stack.web.start()
    wait_until(lambda: _repeat(sender, phone).status_code != CONFLICT)
    again = _repeat(sender, phone)

    assert (again.status_code, again.headers["Idempotent-Replayed"]) == (OK, "true")
    assert again.json()["id"] == Message.objects.get(phone=phone).public_id
    assert stack.ending(phone) == Outcome(["delivered"], charged=1, copies=1)


def _repeat(sender: Sender, phone: str) -> requests.Response:
    return sender.send_code(phone, idempotency_key="order-77")
