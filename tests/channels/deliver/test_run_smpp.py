"""`manage.py run_smpp` with a failing message centre: nothing lost, nothing sent twice."""

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db.models import Q
from django.utils import timezone
from pytest_django import Settings

from billing.models import Transfer
from billing.wallet import ledger
from channels.deliver import sweeps
from channels.models import Attempt, Message
from config.local.embedded import Servers
from tests.api.clients import Api, ClientOf
from tests.channels import smpp_service
from tests.channels.accounts import set_account
from tests.channels.smpp_service import OPEN, Service, attempts, states, wait_until_settled
from tests.factories import CompanyFactory
from tests.ports import free_port
from tests.sql import execute
from tests.stack.programs import wait_until
from tools.stack.seed import lift_budgets

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(300),  # hundreds of messages and two restarts, on a busy machine
]

PHONES = 400
TOKENS = 20_000
PRICE = 16


@pytest.fixture
def service(
    transactional_db: None,
    servers: Servers,
    settings: Settings,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Service]:
    port = free_port()
    set_account(settings, "smpp", smpp_service.account(port))
    bytecode = tmp_path_factory.getbasetemp() / "bytecode"  # compiled once, not at each start
    program = smpp_service.service(servers, tmp_path, port, bytecode)
    program.start()
    yield program
    program.stop()
    call_command("reconcile")


@pytest.fixture
def sender(service: Service, client_of: ClientOf) -> Api:
    company = CompanyFactory.create(api_rate=1_000_000)
    ledger.grant(company=company, amount=TOKENS, reason="tests")
    lift_budgets(company)
    return client_of(company)


def phones(count: int) -> list[str]:
    return [f"+7926{number:07}" for number in range(count)]


def send(sender: Api, numbers: list[str]) -> None:
    for number in numbers:
        assert sender.post("/otp/send", {"phone": number, "channel": "sms"}).status == 200


def send_with_throttling(service: Service, sender: Api, numbers: list[str]) -> None:
    for number in numbers[::20]:  # 5 %, the first time that they are tried
        service.carrier.set_fault("throttle", phone=number, times=1)
    send(sender, numbers)


def end_leases() -> None:
    """Ages the leases and sweeps the calls that a dead process has left."""
    wait_until(lambda: not _is_anybody_at_work())  # the database ends what the dead one asked of it
    past = timezone.now() - timedelta(seconds=1)
    Attempt.objects.filter(state="submitting").update(lease_until=past)
    sweeps.expire_leases()


def _is_anybody_at_work() -> bool:
    rows = execute(
        "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()"
        " AND pid <> pg_backend_pid() AND state <> 'idle')"
    )
    return bool(rows[0][0])


def give_up() -> None:
    """Ages messages until their deadlines have passed."""
    past = timezone.now() - timedelta(seconds=1)
    Message.objects.filter(state__in=OPEN).update(deadline=past)
    sweeps.give_up()


def test_messages_survive_throttling_and_two_restarts(service: Service, sender: Api) -> None:
    numbers = phones(PHONES)
    for part, start in ((1, 0), (2, 150)):
        send_with_throttling(service, sender, numbers[start : start + 150])
        wait_until(lambda part=part: attempts("delivered") > part * 75, 30)  # type: ignore[misc]
        service.centre.kill()
        service.centre.start()
    send_with_throttling(service, sender, numbers[300:])
    wait_until_settled()
    unknown = attempts("ambiguous")
    give_up()

    copies = service.copies()
    ended = states()
    charged = set(Message.objects.filter(state="delivered").values_list("phone", flat=True))
    assert ended["delivered"] + ended["expired"] == PHONES
    assert ended["expired"] == unknown <= 2 * smpp_service.WINDOW
    assert set(copies.values()) == {1}  # what is unknown is never sent again: nothing came twice
    assert charged <= set(copies)
    assert ledger.balance(sender.company.pk) == (TOKENS - PRICE * len(charged), 0)
    # A centre that is killed forgets whom it was to throttle: only the last 100 are sure.
    assert Attempt.objects.filter(error_code="ESME_RTHROTTLED").count() >= 5


# What the centre does → the message's state at last, what it cost, how many copies arrived.
FAULTS: dict[str, tuple[dict[str, Any], str, int, int]] = {
    "none": ({}, "delivered", PRICE, 1),
    "unreachable": ({"kind": "unreachable"}, "failed", 0, 0),
    "refused for the moment": ({"kind": "refuse", "times": 1}, "delivered", PRICE, 1),
    "throttled": ({"kind": "throttle", "times": 1}, "delivered", PRICE, 1),
    "system error": ({"kind": "server_error", "times": 1}, "delivered", PRICE, 1),
    "broken before it was taken": ({"kind": "lost"}, "expired", 0, 0),
    "broken after it was taken": ({"kind": "reset"}, "expired", 0, 1),
    "no answer": ({"kind": "hang"}, "expired", 0, 1),
    "no receipt": ({"kind": "no_receipt"}, "expired", 0, 1),
    "receipt twice": ({"kind": "duplicate_receipt"}, "delivered", PRICE, 1),
    "receipts out of order": ({"kind": "reorder_receipts"}, "delivered", PRICE, 1),
    "late receipt": ({"kind": "late_receipt", "latency_ms": 1000}, "delivered", PRICE, 1),
    "not delivered": ({"kind": "undelivered"}, "failed", 0, 1),
    "failed after all": ({"kind": "failed_after_delivered"}, "delivered", PRICE, 1),
    "delivered after all": ({"kind": "delivered_after_failed"}, "delivered", 0, 1),
}


def test_smpp_fault_has_its_documented_outcome(service: Service, sender: Api) -> None:
    numbers = dict(zip(FAULTS, phones(len(FAULTS)), strict=True))
    deadline = time.monotonic() + 60
    for fault, (bent, *_) in FAULTS.items():
        if bent:
            service.carrier.set_fault(phone=numbers[fault], **bent)
        send(sender, [numbers[fault]])
        # One after the other: what breaks the bind would leave others unknown as well.
        wait_until(lambda fault=fault: is_answered(numbers[fault]), 30)  # type: ignore[misc]
    wanted = {phone: FAULTS[fault][1] for fault, phone in numbers.items()}
    wait_until(lambda: not unfinished(wanted) or time.monotonic() > deadline, 70)
    assert unfinished(wanted) == {}
    give_up()

    ended = {message.phone: message for message in Message.objects.all()}
    charged = dict(Transfer.objects.filter(kind="capture").values_list("message_id", "amount"))
    copies = service.copies()
    assert {
        fault: (ended[phone].state, charged.get(ended[phone].pk, 0), copies[phone])
        for fault, phone in numbers.items()
    } == {fault: row[1:] for fault, row in FAULTS.items()}
    assert ledger.balance(sender.company.pk) == (TOKENS - sum(charged.values()), 0)


def is_answered(phone: str) -> bool:
    """Whether a message was tried and has no try under way or to come."""
    tried = Message.objects.filter(phone=phone, attempts__isnull=False)
    idle = tried.exclude(attempts__state="submitting")
    return idle.filter(Q(due_at=None) | Q(state="failed")).exists()


def unfinished(wanted: dict[str, str]) -> dict[str, str]:
    """Returns messages still without their final receipt, with their state."""
    now = dict(Message.objects.values_list("phone", "state"))
    return {
        phone: now[phone]
        for phone, state in wanted.items()
        if state != "expired" and now[phone] != state
    }


def test_killed_process_sends_nothing_twice(service: Service, sender: Api) -> None:
    service.carrier.set_fault(latency_ms=50)
    numbers = phones(100)
    send(sender, numbers)
    wait_until(lambda: attempts("delivered") > 20)

    service.process.kill()
    end_leases()
    service.process.start()
    wait_until_settled()
    unknown = attempts("ambiguous")
    give_up()

    assert set(service.copies().values()) == {1}
    # One that it was about to write when it died is as unknown as one that was written.
    assert len(set(numbers) - set(service.copies())) <= unknown
    assert states() == {"delivered": 100 - unknown} | ({"expired": unknown} if unknown else {})
    assert unknown <= smpp_service.WINDOW


def test_stopped_process_finishes_its_calls(service: Service, sender: Api) -> None:
    count = 120  # ten seconds' work, long after it was asked to stop
    service.carrier.set_fault(latency_ms=1000)
    send(sender, phones(count))
    wait_until(lambda: Attempt.objects.count() >= 15)

    service.process.terminate()
    code = service.process.wait_stopped()

    assert (code, attempts("submitting"), attempts("ambiguous")) == (0, 0, 0)
    assert Attempt.objects.count() < count
    service.carrier.clear_faults()
    service.process.start()
    wait_until_settled()
    assert states() == {"delivered": count}
