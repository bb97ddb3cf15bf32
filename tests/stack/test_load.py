"""Overload: waiting requests neither block others nor get lost."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import requests

from channels.models import Attempt
from tests.stack.paused_process import paused
from tests.stack.programs import wait_until
from tests.stack.sender import Sender
from tests.stack.stack import SEND_WAIT, SEND_WAITERS, TOKENS, Outcome, Stack

OK = 200
DELIVERED = Outcome(["delivered"], charged=1, copies=1)
PAUSE_SECONDS = 8.0  # longer than we wait for any vendor


def test_slow_vendor_keeps_to_its_thread_limit(
    stack: Stack, sender: Sender, threads: ThreadPoolExecutor
) -> None:
    known = stack.phone()
    first = stack.phones(SEND_WAITERS)
    second = stack.phones(8)
    sender.send_code(known)
    code = stack.carrier.code(known)
    stack.carrier.set_fault("hang", latency_ms=2500)
    stack.carrier.set_fault("late_receipt", latency_ms=2500)

    sending = [threads.submit(sender.send_code, phone) for phone in first]
    wait_until(lambda: all(stack.carrier.messages(phone) for phone in first))
    extra = [sender.send_code(phone) for phone in second]
    checked = sender.verify(known, code)
    waiting = sum(not future.done() for future in sending)

    assert checked.status_code == 200
    assert waiting == SEND_WAITERS
    responses = [future.result() for future in sending] + extra
    assert [response.json()["status"] for response in responses] == ["queued"] * 12
    assert stack.endings([*first, *second]) == [DELIVERED] * 12


def test_worker_finishes_its_work_on_sigterm(
    stack: Stack, sender: Sender, threads: ThreadPoolExecutor
) -> None:
    phones = stack.phones(48)
    tried = Attempt.objects.filter(message__phone__in=phones)
    stack.carrier.set_fault(latency_ms=700)

    sending = [threads.submit(sender.send_code, phone) for phone in phones]
    wait_until(lambda: tried.count() >= 16)
    stack.worker.terminate()
    code = stack.worker.wait_stopped()
    unknown = tried.filter(state__in=["submitting", "ambiguous"]).count()
    stack.worker.start()

    assert (code, unknown) == (0, 0)
    assert [future.result().status_code for future in sending] == [200] * len(phones)
    assert stack.endings(phones) == [DELIVERED] * len(phones)
    assert sender.balance() == (TOKENS - len(phones), 0)


def test_two_hundred_sends_to_a_hanging_vendor(stack: Stack, threads: ThreadPoolExecutor) -> None:
    sender = stack.sender(api_rate=1_000_000)
    known = _codes_on_phones(stack, sender, 16)
    phones = stack.phones(200)

    with paused(stack.simulator.running.pid):
        started = time.monotonic()
        sending = [threads.submit(_timed, sender.send_code, phone) for phone in phones]
        checking = []
        for number, (phone, code) in enumerate(known.items(), start=1):
            checking.append(_timed(sender.verify, phone, code))
            time.sleep(max(0.0, started + number * PAUSE_SECONDS / len(known) - time.monotonic()))
        sent = [future.result() for future in sending]

    assert [response.status_code for response, *_ in checking] == [200] * len(known)
    assert max(seconds for *_, seconds in checking) < PAUSE_SECONDS / 2
    assert {(response.status_code, response.json()["status"]) for response, *_ in sent} == {
        (200, "queued")
    }
    # If all might wait, all would; but a busy machine makes some as slow as those that do.
    assert sum(seconds >= SEND_WAIT for *_, seconds in sent) < len(sent) / 2
    assert stack.endings([*known, *phones]) == [DELIVERED] * 216
    assert sender.balance() == (TOKENS - 216, 0)


def _codes_on_phones(stack: Stack, sender: Sender, count: int) -> dict[str, str]:
    phones = stack.phones(count)
    for phone in phones:
        assert sender.send_code(phone).status_code == OK
    wait_until(lambda: all(stack.carrier.messages(phone) for phone in phones))
    return {phone: stack.carrier.code(phone) for phone in phones}


def _timed(
    call: Callable[..., requests.Response], *arguments: str
) -> tuple[requests.Response, float, float]:
    """The answer, when it came, and how many seconds it took."""
    asked_at = time.monotonic()
    response = call(*arguments)
    ended_at = time.monotonic()
    return response, ended_at, ended_at - asked_at
