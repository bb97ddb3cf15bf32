"""Stores that die, come back empty or stand still: the database says what is due, Redis hints."""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import requests

from channels.models import Attempt, Message
from tests.stack.programs import threads_of, until
from tests.stack.sender import Sender
from tests.stack.stack import OPEN, TOKENS, Ending, Stack, expire

DELIVERED = Ending(["delivered"], charged=1, copies=1)
UNSENT = Ending(["expired"], charged=0, copies=0)


@pytest.fixture(autouse=True)
def recovery(stack: Stack) -> Iterator[None]:
    """The next test finds everything as it was; of a lost store anybody may complain."""
    yield
    stack.carrier.behave()
    stack.recover()
    stack.complaints()


def test_redis_killed_and_back_empty_in_the_middle_of_sends(
    stack: Stack, sender: Sender, threads: ThreadPoolExecutor
) -> None:
    phones = stack.phones(24)
    stack.carrier.misbehave(latency_ms=500)

    sending = [threads.submit(sender.send_code, phone) for phone in phones[:12]]
    until(lambda: bool(stack.carrier.messages(phones[0])))
    stack.redis.forget()
    sending += [threads.submit(sender.send_code, phone) for phone in phones[12:]]
    answers = [one.result() for one in sending]
    checked = sender.verify(phones[0], stack.carrier.code(phones[0]))
    stack.redis.start()

    assert [one.status_code for one in [*answers, checked]] == [200] * 25
    assert stack.endings(phones) == [DELIVERED] * 24
    assert sender.balance() == (TOKENS - 24, 0)


def test_web_and_worker_start_and_work_without_redis(stack: Stack, sender: Sender) -> None:
    phone = stack.phone()
    stack.redis.forget()
    stack.web.kill()
    stack.worker.kill()

    stack.worker.launch()  # it will not call itself ready without its broker
    stack.web.start()
    sent = sender.send_code(phone)
    until(lambda: bool(stack.carrier.messages(phone)))
    again = sender.send_code(phone)
    checked = sender.verify(phone, stack.carrier.code(phone))
    ending = stack.ending(phone)
    stack.redis.start()
    stack.worker.wait_ready()

    assert (sent.status_code, sent.json()["status"]) == (200, "queued")
    assert (again.status_code, again.json()["code"]) == (429, "resend_too_soon")
    assert checked.status_code == 200
    assert ending == DELIVERED


def test_redis_standing_still_fails_no_request_and_piles_up_no_threads(
    stack: Stack, sender: Sender, threads: ThreadPoolExecutor
) -> None:
    waves = [stack.phones(12), stack.phones(12)]
    crowds = []

    with _standing_still(stack.redis.pid):
        answers: list[requests.Response] = []
        for wave in waves:
            answers += threads.map(sender.send_code, wave)
            crowds.append(threads_of(stack.web))
        phone = waves[0][0]
        until(lambda: bool(stack.carrier.messages(phone)))
        checked = sender.verify(phone, stack.carrier.code(phone))

    assert [one.status_code for one in [*answers, checked]] == [200] * 25
    assert crowds[1] <= crowds[0] + 2
    assert stack.endings([phone for wave in waves for phone in wave]) == [DELIVERED] * 24


def test_postgres_killed_under_load_loses_and_repeats_nothing(
    stack: Stack, sender: Sender, threads: ThreadPoolExecutor
) -> None:
    phones = stack.phones(80)
    shares = [phones[n::8] for n in range(8)]

    clients = [threads.submit(_send_until_taken, sender, share) for share in shares]
    until(lambda: Message.objects.filter(phone__in=phones).count() >= 20)
    stack.kill_postgres()
    stack.postgres.start()
    statuses = [status for client in clients for status in client.result(20)]
    _end_what_is_unknown(phones)

    assert set(statuses) <= {200, 409, 503}
    assert statuses.count(200) == len(phones)
    endings = stack.endings(phones)
    assert [one for one in endings if one not in (DELIVERED, UNSENT)] == []
    assert sender.balance() == (TOKENS - endings.count(DELIVERED), 0)


def _send_until_taken(sender: Sender, phones: list[str]) -> list[int]:
    """Every status on the way: a client repeats with the same key until it is told 200."""
    seen = []
    for phone in phones:
        while True:
            answer = _send_either(sender, phone)
            seen.append(answer.status_code)
            if answer.status_code not in (409, 503):
                break
            time.sleep(0.2)
    return seen


def _send_either(sender: Sender, phone: str) -> requests.Response:
    """A code, whose receipt could make good what we forgot; or a link, which has no receipt."""
    if int(phone) % 2:
        return sender.send_code(phone, idempotency_key=phone)
    link = {"phone": phone, "url": "https://example.com/", "channel": "telegram"}
    return sender.post("/links/send", link, idempotency_key=phone)


def _end_what_is_unknown(phones: list[str]) -> None:
    """Age what the killed server left unknown, once everything else is final."""
    sent = Message.objects.filter(phone__in=phones, state__in=OPEN)
    claimed = Attempt.objects.filter(message__in=sent, state="submitting")
    time.sleep(1)
    if claimed.exists():
        expire(claimed, "lease_until")
    until(lambda: not sent.exclude(attempts__state="ambiguous").exists())
    if sent.exists():
        expire(sent, "deadline")


@contextmanager
def _standing_still(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
