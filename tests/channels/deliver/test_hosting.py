"""Accounts with their own process: only that process calls them."""

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from channels import vendor_webhooks
from channels.deliver import claims, hosting
from channels.deliver.dispatcher import Dispatcher
from channels.deliver.heartbeats import HeartbeatWriter
from channels.deliver.hosting import AccountLock, AccountTakenError
from channels.models import Attempt, Heartbeat, Message
from channels.providers.base import HostedProvider
from channels.providers.inbound import InboundEvents
from channels.vendor_accounts import availability, registry
from channels.waiting import wakeups
from storage.redis_client import redis_client
from tests.api.clients import Api
from tests.channels.accounts import create_account, name_accounts, set_account
from tests.channels.message_stages import PHONE, send
from tests.channels.providers.centre import Centre
from tests.sql import execute
from tests.stack.programs import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def account(centre: Centre, settings: Settings) -> HostedProvider:
    own = {"host": "127.0.0.1", "port": centre.port, "tls": False, "window": 3}
    names: dict[str, Any] = {"system_id": "kvitok", "password": "secret", "source": "Kvitok"}
    set_account(settings, "smpp", own | names)
    return registry.hosted_providers()["smpp"]


@pytest.fixture
def hosted(account: HostedProvider, centre: Centre) -> Iterator[Dispatcher]:
    """The dispatcher of the hosting process on a thread, with a bind."""
    dispatcher = Dispatcher(account)
    account.start(store=lambda batch: _handle(account.name, batch), on_open=dispatcher.wake)
    wait_until(lambda: centre.esme is not None and account.is_open)
    thread = threading.Thread(target=dispatcher.run, name="delivery")
    thread.start()
    yield dispatcher
    dispatcher.stop()
    wakeups.wake_now()
    thread.join(10)
    account.stop()


def _handle(name: str, batch: Sequence[InboundEvents]) -> None:
    try:
        vendor_webhooks.handle_events(name, batch)
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("bound", "called"), [(1, {"whatsapp_cloud"}), (0, {"whatsapp_cloud", "twilio"})]
)
def test_workers_skip_a_bound_account(
    account: HostedProvider, api: Api, bound: int, called: set[str]
) -> None:
    now = timezone.now()
    Heartbeat.objects.create(process="smpp 1", kind="smpp", at=now, details={"bound": bound})
    availability.reset()
    send(api, channel="sms")
    send(api, "+79160000001", channel="whatsapp")
    worker = Dispatcher()

    worker.claim()

    assert set(Attempt.objects.values_list("provider", flat=True)) == called
    worker.loop.pool.shutdown(wait=True)


def test_hosting_process_takes_over_from_an_unbound_account(
    account: HostedProvider, settings: Settings, api: Api
) -> None:
    """Workers leave the message to it: it must not wait for the account in front of its own."""
    name_accounts(settings, "secondcentre", vendor="smpp")  # as long as a name may be
    second = registry.hosted_providers()["smpp:secondcentre"]
    HeartbeatWriter(second.name).write({"bound": 1})
    availability.reset()
    send(api, channel="sms")

    taken = [claims.claim(9), claims.claim(9, hosted=second)]

    assert [[claimed.provider for claimed in several] for several in taken] == [[], [second.name]]


def test_processes_agree_whose_account_carries_a_message(account: HostedProvider, api: Api) -> None:
    """Accounts that share the messages by weight: none is left to the other's process by both."""
    for name in ("smpp", "twilio"):
        create_account(name, position=10)
    HeartbeatWriter("smpp").write({"bound": 1})
    availability.reset()
    for number in range(25):
        send(api, f"+791612345{number:02}", channel="sms")

    taken = [claims.claim(99), claims.claim(99, hosted=account)]

    assert sum(map(len, taken)) == 25
    assert all(taken)


def test_hosting_process_that_is_not_seen_as_bound_yet_claims(
    account: HostedProvider, api: Api
) -> None:
    availability.reset()
    send(api, channel="sms")
    availability.refresh()
    assert account.name in availability.unbound_accounts()

    assert [claimed.provider for claimed in claims.claim(9, hosted=account)] == ["smpp"]


def test_hosting_process_skips_other_accounts(hosted: Dispatcher, centre: Centre, api: Api) -> None:
    send(api, "+79160000001", channel="whatsapp")

    send(api, channel="sms")

    wait_until(lambda: Message.objects.get(phone=PHONE).state == "sent")
    assert Message.objects.get(phone="+79160000001").tries == 0
    assert [pdu.destination_addr for pdu in centre.submitted] == [PHONE[1:]]


def test_receipt_over_the_bind_settles_the_message(
    hosted: Dispatcher, centre: Centre, api: Api
) -> None:
    send(api, channel="sms")
    wait_until(lambda: Message.objects.get().state == "sent")

    status = centre.deliver("id:m00001 stat:DELIVRD err:000")

    wait_until(lambda: Message.objects.get().state == "delivered")
    assert status == 0


def test_messages_wait_while_the_account_is_unbound(account: HostedProvider, api: Api) -> None:
    send(api, channel="sms")
    dispatcher = Dispatcher(account)

    dispatcher.dispatch()

    assert (Attempt.objects.count(), Message.objects.get().state) == (0, "queued")


def test_claims_are_bounded_by_the_window(hosted: Dispatcher, centre: Centre, api: Api) -> None:
    centre.judge = lambda _event, _message_id: None
    for number in range(5):
        send(api, f"+7916000000{number}", channel="sms")

    wait_until(lambda: len(centre.submitted) == 3)

    assert Attempt.objects.count() == 3
    for event in centre.submitted:
        event.accept(event.destination_addr)
    wait_until(lambda: len(centre.submitted) == 5)
    for event in centre.submitted[3:]:
        event.accept(event.destination_addr)
    wait_until(lambda: Message.objects.filter(state="sent").count() == 5)


def test_wake_up_reaches_workers_and_the_hosting_process(account: HostedProvider) -> None:
    wakeups.wake_now()

    assert redis_client().llen("wake") == redis_client().llen("wake:smpp") == 1


def test_unread_wake_lists_stay_short(account: HostedProvider) -> None:
    for _ in range(40):
        wakeups.wake_now()

    assert redis_client().llen("wake:smpp") <= wakeups.MAX_ENTRIES


def test_account_lock_admits_one_process() -> None:
    with AccountLock("smpp").held(lambda: None):
        with pytest.raises(AccountTakenError), AccountLock("smpp").held(lambda: None):
            pass
        with AccountLock("another").held(lambda: None):
            pass

    with AccountLock("smpp").held(lambda: None):
        pass


def test_lock_acquired_by_another_process_stops_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosting, "LOCK_CHECK_INTERVAL", 1.0)
    mine = AccountLock("smpp")
    ended = threading.Event()

    with pytest.raises(AccountTakenError), mine.held(ended.set):
        _lose_to_another(mine, ended)

    assert ended.is_set()


def test_lock_lost_with_its_session_is_acquired_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosting, "LOCK_CHECK_INTERVAL", 0.05)
    mine = AccountLock("smpp")
    ended = threading.Event()

    with mine.held(ended.set):
        before = _pid(mine)
        _end_session_of(mine)
        wait_until(lambda: mine._session is not None and _pid(mine) not in {0, before})
        with pytest.raises(AccountTakenError), AccountLock("smpp").held(lambda: None):
            pass

    assert not ended.is_set()


def _lose_to_another(mine: AccountLock, ended: threading.Event) -> None:
    _end_session_of(mine)
    with AccountLock("smpp").held(lambda: None):
        ended.wait(60)


def _pid(lock: AccountLock) -> int:
    held = lock._session
    try:
        return held.info.backend_pid if held else 0
    except psycopg.OperationalError:
        return 0


def _end_session_of(lock: AccountLock) -> None:
    execute("SELECT pg_terminate_backend(%s, 5000)", [_pid(lock)])
