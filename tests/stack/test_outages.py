"""Stores that die, come back empty or stand still: the database says what is due, Redis hints."""

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import reduce
from operator import or_

import pytest
import redis
import requests
from django.db import transaction

from billing.models import Wallet
from channels.accept.outcome_waiting import PUBSUB_CHANNEL
from channels.models import Attempt, Message
from tests.stack import resource_usage
from tests.stack.concurrent_clients import CLIENTS, Crowd
from tests.stack.paused_process import standing_still
from tests.stack.programs import Program, until
from tests.stack.resource_usage import Footprint
from tests.stack.sender import Sender
from tests.stack.stack import OPEN, SEND_WAITERS, TOKENS, Ending, Stack, expire

DELIVERED = Ending(["delivered"], charged=1, copies=1)
UNSENT = Ending(["expired"], charged=0, copies=0)
STANDSTILL = 20.0  # seconds
FULL = 64  # requests at once: as many as web has threads
SLACK = 5  # threads that come with need: of Celery's pool, of libraries


@pytest.fixture(autouse=True)
def recovery(stack: Stack) -> Iterator[None]:
    """The next test finds everything as it was; of a lost store anybody may complain."""
    yield
    stack.carrier.behave()
    stack.recover()
    stack.complaints()


@pytest.fixture
def busy(stack: Stack) -> Sender:
    """A company that may ask as often as it likes."""
    return stack.sender(api_rate=1_000_000)


def test_redis_killed_and_back_empty_in_the_middle_of_sends(
    stack: Stack, busy: Sender, threads: ThreadPoolExecutor
) -> None:
    before = _full_house(stack, busy, threads)
    waiting = _waiting_sends(stack, busy, threads)

    with Crowd(stack, busy) as crowd:
        until(lambda: crowd.count()["verify"] >= CLIENTS)
        stack.redis.forget()
        told = [one.result().json()["status"] for one in waiting]
        during = resource_usage.extremes(_watched(stack), 2)[1]
        asked = crowd.count()
        stack.redis.start()
        _is_told_again(stack, crowd)

    assert told == ["queued"] * SEND_WAITERS  # at once, or they had heard of the acceptance
    assert min(asked[call] for call in ("send", "verify", "shorten", "follow")) >= 2 * CLIENTS
    _nothing_was_lost(stack, busy, crowd)
    _no_leak(before, during, _full_house(stack, busy, threads))


def test_web_and_worker_start_and_work_without_redis(
    stack: Stack, busy: Sender, threads: ThreadPoolExecutor
) -> None:
    before, phone = _full_house(stack, busy, threads), stack.phone()
    stack.redis.forget()
    stack.web.kill()
    stack.worker.kill()

    stack.worker.launch()  # it will not call itself ready without its broker
    stack.web.start()
    with Crowd(stack, busy) as crowd:
        sent, again = busy.send_code(phone), busy.send_code(phone)
        until(lambda: crowd.count()["follow"] >= 2 * CLIENTS)
        during = resource_usage.extremes(_watched(stack), 1)[1]
        stack.redis.start()
        _is_told_again(stack, crowd)
    stack.worker.wait_ready()

    assert (sent.status_code, sent.json()["status"]) == (200, "queued")
    assert (again.status_code, again.json()["code"]) == (429, "resend_too_soon")
    assert stack.ending(phone) == DELIVERED
    _nothing_was_lost(stack, busy, crowd)
    _no_leak(before, during, _full_house(stack, busy, threads))


def test_redis_standing_still_fails_no_request_and_piles_up_nothing(
    stack: Stack, busy: Sender, threads: ThreadPoolExecutor
) -> None:
    before = _full_house(stack, busy, threads)

    with Crowd(stack, busy) as crowd:
        with standing_still(stack.redis.pid):
            quarters = [resource_usage.extremes(_watched(stack), STANDSTILL / 4) for _ in range(4)]
            asked = crowd.count()
        _is_told_again(stack, crowd)

    during = reduce(or_, [most for _, most in quarters])
    settled, at_last = quarters[1][0], quarters[3][0]
    assert not at_last.exceeds(settled, threads=SLACK, files=SLACK), (settled, at_last)
    assert min(asked[call] for call in ("send", "verify", "shorten", "follow")) >= 4 * CLIENTS
    _nothing_was_lost(stack, busy, crowd)
    _no_leak(before, during, _full_house(stack, busy, threads))


def _full_house(stack: Stack, sender: Sender, threads: ThreadPoolExecutor) -> Footprint:
    """What web, worker and beat hold once each has had as much to do as it can do at once.

    Their pools of threads and connections grow with need, and that is no leak.
    """
    with Crowd(stack, sender):
        pass  # each client comes once
    stack.carrier.misbehave(latency_ms=300)
    # On a busy machine some wait too long for a connection of the pool: an honest 503.
    assert 200 in _statuses_of_a_rush(stack, sender, threads) <= {200, 503}
    until(lambda: sender.balance()[1] == 0)
    stack.carrier.behave()
    least, _ = resource_usage.extremes(_watched(stack), 0.5)
    return least


def _statuses_of_a_rush(stack: Stack, sender: Sender, threads: ThreadPoolExecutor) -> set[int]:
    with transaction.atomic():
        Wallet.objects.select_for_update().get(company=sender.company)  # every send waits for it
        sending = [threads.submit(sender.send_code, phone) for phone in stack.phones(FULL)]
        time.sleep(0.5)
    return {one.result().status_code for one in sending}


def _watched(stack: Stack) -> list[Program]:
    return [stack.web, stack.worker, stack.beat]


def _waiting_sends(
    stack: Stack, sender: Sender, threads: ThreadPoolExecutor
) -> list["Future[requests.Response]"]:
    """As many as may wait, each for a vendor who takes his time."""
    phones = stack.phones(SEND_WAITERS)
    for phone in phones:
        stack.carrier.misbehave(phone=phone, latency_ms=1500)
    sending = [threads.submit(sender.send_code, phone) for phone in phones]
    until(lambda: all(stack.carrier.messages(phone) for phone in phones))
    return sending


def _is_told_again(stack: Stack, crowd: Crowd) -> None:
    """Web hears of outcomes, the worker of what is due, and so senders are told."""
    back_at = time.monotonic()
    with redis.Redis.from_url(stack.redis.url) as client:
        until(
            lambda: crowd.is_told_of_sends_since(back_at) and _ears(client) == (1, 1),
            instead=lambda: (_ears(client), crowd.answers[-CLIENTS:]),
        )


def _ears(client: "redis.Redis") -> tuple[int, int]:
    """(subscriptions of web to outcomes, workers that block on the nudge)"""
    ((_, subscribed),) = client.pubsub_numsub(PUBSUB_CHANNEL)
    return subscribed, sum(one["cmd"] == "blpop" for one in client.client_list())


def _nothing_was_lost(stack: Stack, sender: Sender, crowd: Crowd) -> None:
    assert crowd.failures == []
    assert stack.endings(crowd.phones) == [DELIVERED] * len(crowd.phones)
    assert sender.balance()[1] == 0


def _no_leak(before: Footprint, during: Footprint, after: Footprint) -> None:
    """An outage costs nothing but the clients' own connections, and leaves nothing behind.

    How many connections a pool has depends on how many asked in the same moment: up to one for
    each thread.
    """
    assert not during.exceeds(before, threads=SLACK, files=4 * CLIENTS), (before, during)
    assert not after.exceeds(before, threads=SLACK, files=FULL), (before, after)


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
