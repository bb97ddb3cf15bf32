"""More than can be done at once: what waits must neither hold others up nor be lost."""

from concurrent.futures import ThreadPoolExecutor

from channels.models import Attempt
from tests.stack.programs import until
from tests.stack.sender import Sender
from tests.stack.stack import SEND_WAITERS, TOKENS, Ending, Stack

DELIVERED = Ending(["delivered"], charged=1, copies=1)


def test_a_slow_vendor_takes_no_more_threads_than_it_may(
    stack: Stack, sender: Sender, threads: ThreadPoolExecutor
) -> None:
    known, first, second = stack.phone(), stack.phones(SEND_WAITERS), stack.phones(8)
    sender.send_code(known)
    code = stack.carrier.code(known)
    stack.carrier.misbehave("hang", latency_ms=2500)
    stack.carrier.misbehave("late_receipt", latency_ms=2500)

    sending = [threads.submit(sender.send_code, phone) for phone in first]
    until(lambda: all(stack.carrier.messages(phone) for phone in first))
    extra = [sender.send_code(phone) for phone in second]
    checked = sender.verify(known, code)
    waiting = sum(not one.done() for one in sending)

    assert checked.status_code == 200
    assert waiting == SEND_WAITERS
    answers = [one.result() for one in sending] + extra
    assert [one.json()["status"] for one in answers] == ["queued"] * 12
    assert stack.endings([*first, *second]) == [DELIVERED] * 12


def test_a_worker_asked_to_stop_under_load_finishes_what_it_began(
    stack: Stack, sender: Sender, threads: ThreadPoolExecutor
) -> None:
    phones = stack.phones(48)
    tried = Attempt.objects.filter(message__phone__in=phones)
    stack.carrier.misbehave(latency_ms=700)

    sending = [threads.submit(sender.send_code, phone) for phone in phones]
    until(lambda: tried.count() >= 16)
    stack.worker.ask_to_stop()
    code = stack.worker.wait_stopped()
    unknown = tried.filter(state__in=["submitting", "ambiguous"]).count()
    stack.worker.start()

    assert (code, unknown) == (0, 0)
    assert [one.result().status_code for one in sending] == [200] * len(phones)
    assert stack.endings(phones) == [DELIVERED] * len(phones)
    assert sender.balance() == (TOKENS - len(phones), 0)
