"""PostgreSQL and Redis of a whole stack fail and return."""

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
from channels.models import Attempt, Message
from channels.waiting import outcome_signals
from tests.stack import resource_usage
from tests.stack.concurrent_clients import CLIENTS, ConcurrentClients
from tests.stack.paused_process import paused
from tests.stack.programs import Program, wait_until
from tests.stack.resource_usage import ResourceUsage
from tests.stack.sender import Sender
from tests.stack.stack import OPEN, SEND_WAITERS, TOKENS, Outcome, Stack, expire

DELIVERED = Outcome(["delivered"], charged=1, copies=1)
UNSENT = Outcome(["expired"], charged=0, copies=0)
PAUSE_SECONDS = 20.0
WEB_THREADS = 64  # requests at once: as many as web has threads
EXTRA_THREADS = 5  # threads that come with need: of Celery's pool, of libraries


@pytest.fixture(autouse=True)
def recovery(stack: Stack) -> Iterator[None]:
    """Recover for the next test; errors about a lost store are allowed."""
    yield
    stack.carrier.clear_faults()
    stack.recover()
    stack.new_errors()


def test_redis_killed_and_back_empty_in_the_middle_of_sends(
    stack: Stack, unlimited_sender: Sender, threads: ThreadPoolExecutor
) -> None:
    before = _usage_at_full_load(stack, unlimited_sender, threads)
    waiting = _waiting_sends(stack, unlimited_sender, threads)

    with ConcurrentClients(stack, unlimited_sender) as crowd:
        wait_until(lambda: crowd.count()["verify"] >= CLIENTS)
        stack.redis.forget()
        waited_statuses = [future.result().json()["status"] for future in waiting]
        during = resource_usage.usage_range(_measured_programs(stack), 2)[1]
        asked = crowd.count()
        stack.redis.start()
        _wait_for_notifications(stack, crowd)

    assert waited_statuses == ["queued"] * SEND_WAITERS  # at once, or they knew of the acceptance
    assert min(asked[call] for call in ("send", "verify", "shorten", "follow")) >= 2 * CLIENTS
    _assert_nothing_lost(stack, unlimited_sender, crowd)
    _assert_no_leak(before, during, _usage_at_full_load(stack, unlimited_sender, threads))


def test_web_and_worker_start_and_work_without_redis(
    stack: Stack, unlimited_sender: Sender, threads: ThreadPoolExecutor
) -> None:
    before = _usage_at_full_load(stack, unlimited_sender, threads)
    phone = stack.phone()
    stack.redis.forget()
    stack.web.kill()
    stack.worker.kill()

    stack.worker.launch()  # it will not call itself ready without its broker
    stack.web.start()
    with ConcurrentClients(stack, unlimited_sender) as crowd:
        sent = unlimited_sender.send_code(phone)
        again = unlimited_sender.send_code(phone)
        wait_until(lambda: crowd.count()["follow"] >= 2 * CLIENTS)
        during = resource_usage.usage_range(_measured_programs(stack), 1)[1]
        stack.redis.start()
        _wait_for_notifications(stack, crowd)
    stack.worker.wait_ready()

    assert (sent.status_code, sent.json()["status"]) == (200, "queued")
    assert (again.status_code, again.json()["code"]) == (429, "resend_too_soon")
    assert stack.ending(phone) == DELIVERED
    _assert_nothing_lost(stack, unlimited_sender, crowd)
    _assert_no_leak(before, during, _usage_at_full_load(stack, unlimited_sender, threads))


def test_paused_redis_fails_no_request_and_leaks_nothing(
    stack: Stack, unlimited_sender: Sender, threads: ThreadPoolExecutor
) -> None:
    before = _usage_at_full_load(stack, unlimited_sender, threads)

    with ConcurrentClients(stack, unlimited_sender) as crowd:
        with paused(stack.redis.pid):
            quarters = [
                resource_usage.usage_range(_measured_programs(stack), PAUSE_SECONDS / 4)
                for _ in range(4)
            ]
            asked = crowd.count()
        _wait_for_notifications(stack, crowd)

    during = reduce(or_, [most for _, most in quarters])
    settled = quarters[1][0]
    final = quarters[3][0]
    assert not final.exceeds(settled, threads=EXTRA_THREADS, files=EXTRA_THREADS), (
        settled,
        final,
    )
    assert min(asked[call] for call in ("send", "verify", "shorten", "follow")) >= 4 * CLIENTS
    _assert_nothing_lost(stack, unlimited_sender, crowd)
    _assert_no_leak(before, during, _usage_at_full_load(stack, unlimited_sender, threads))


def _usage_at_full_load(stack: Stack, sender: Sender, threads: ThreadPoolExecutor) -> ResourceUsage:
    """The resources of web, worker and beat after each was fully loaded.

    Pools of threads and connections grow on demand, which is not a leak.
    """
    with ConcurrentClients(stack, sender):
        pass  # each client comes once
    stack.carrier.set_fault(latency_ms=300)
    # On a busy machine some wait too long for a connection of the pool: an honest 503.
    assert 200 in _statuses_of_simultaneous_sends(stack, sender, threads) <= {200, 503}
    wait_until(lambda: sender.balance()[1] == 0)
    stack.carrier.clear_faults()
    least, _ = resource_usage.usage_range(_measured_programs(stack), 0.5)
    return least


def _statuses_of_simultaneous_sends(
    stack: Stack, sender: Sender, threads: ThreadPoolExecutor
) -> set[int]:
    with transaction.atomic():
        Wallet.objects.select_for_update().get(company=sender.company)  # every send waits for it
        sending = [threads.submit(sender.send_code, phone) for phone in stack.phones(WEB_THREADS)]
        time.sleep(0.5)
    return {future.result().status_code for future in sending}


def _measured_programs(stack: Stack) -> list[Program]:
    return [stack.web, stack.worker, stack.beat]


def _waiting_sends(
    stack: Stack, sender: Sender, threads: ThreadPoolExecutor
) -> list["Future[requests.Response]"]:
    """Sends as many codes as may wait, each for a slow vendor."""
    phones = stack.phones(SEND_WAITERS)
    for phone in phones:
        stack.carrier.set_fault(phone=phone, latency_ms=1500)
    sending = [threads.submit(sender.send_code, phone) for phone in phones]
    wait_until(lambda: all(stack.carrier.messages(phone) for phone in phones))
    return sending


def _wait_for_notifications(stack: Stack, crowd: ConcurrentClients) -> None:
    """Waits until web gets outcomes, the worker gets wake-ups and sends are answered again."""
    back_at = time.monotonic()
    with redis.Redis.from_url(stack.redis.url) as client:
        wait_until(
            lambda: crowd.has_sends_answered_since(back_at) and _listener_counts(client) == (1, 1),
            on_timeout=lambda: (_listener_counts(client), crowd.responses[-CLIENTS:]),
        )


def _listener_counts(client: "redis.Redis") -> tuple[int, int]:
    """(subscriptions of web to outcomes, workers that block on wake-ups)"""
    ((_, subscribed),) = client.pubsub_numsub(outcome_signals.PUBSUB_CHANNEL)
    own = outcome_signals.details().get("listening", 0)  # since a test before in this process
    return subscribed - own, sum(
        connection["cmd"] == "blpop" for connection in client.client_list()
    )


def _assert_nothing_lost(stack: Stack, sender: Sender, crowd: ConcurrentClients) -> None:
    assert crowd.failures == []
    assert stack.endings(crowd.phones) == [DELIVERED] * len(crowd.phones)
    assert sender.balance()[1] == 0


def _assert_no_leak(before: ResourceUsage, during: ResourceUsage, after: ResourceUsage) -> None:
    """An outage uses only the clients' own connections and leaks nothing.

    The size of a connection pool depends on concurrency: up to one per thread.
    """
    assert not during.exceeds(before, threads=EXTRA_THREADS, files=4 * CLIENTS), (before, during)
    assert not after.exceeds(before, threads=EXTRA_THREADS, files=WEB_THREADS), (before, after)


def test_postgres_killed_under_load_loses_and_repeats_nothing(
    stack: Stack, sender: Sender, threads: ThreadPoolExecutor
) -> None:
    phones = stack.phones(80)
    shares = [phones[n::8] for n in range(8)]

    clients = [threads.submit(_send_until_accepted, sender, share) for share in shares]
    wait_until(lambda: Message.objects.filter(phone__in=phones).count() >= 20)
    stack.kill_postgres()
    stack.postgres.start()
    statuses = [status for client in clients for status in client.result(20)]
    _expire_unknown(phones)

    assert set(statuses) <= {200, 409, 503}
    assert statuses.count(200) == len(phones)
    endings = stack.endings(phones)
    assert [ending for ending in endings if ending not in (DELIVERED, UNSENT)] == []
    assert sender.balance() == (TOKENS - endings.count(DELIVERED), 0)


def _send_until_accepted(sender: Sender, phones: list[str]) -> list[int]:
    """Every status received: a client repeats with the same key until it gets 200."""
    seen = []
    for phone in phones:
        while True:
            response = _send_code_or_link(sender, phone)
            seen.append(response.status_code)
            if response.status_code not in (409, 503):
                break
            time.sleep(0.2)
    return seen


def _send_code_or_link(sender: Sender, phone: str) -> requests.Response:
    """A code, which a receipt could recover; or a Telegram link, which has no receipt."""
    if int(phone) % 2:
        return sender.send_code(phone, idempotency_key=phone)
    link = {"phone": phone, "url": "https://example.com/", "channel": "telegram"}
    return sender.post("/links/send", link, idempotency_key=phone)


def _expire_unknown(phones: list[str]) -> None:
    """Age messages in an unknown state, once all others are final."""
    sent = Message.objects.filter(phone__in=phones, state__in=OPEN)
    claimed = Attempt.objects.filter(message__in=sent, state="submitting")
    time.sleep(1)
    if claimed.exists():
        expire(claimed, "lease_until")
    wait_until(lambda: not sent.exclude(attempts__state="ambiguous").exists())
    if sent.exists():
        expire(sent, "deadline")
