"""Pages over a real streaming replica: what they read there, and when they do not."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from django.db import connections, transaction
from django.test import Client, override_settings
from django.urls import reverse

from accounts.api.pagination import page_of
from accounts.models import AuditEvent, Company, Member
from billing.models import Wallet
from billing.wallet import ledger, running_balances
from channels.models import Message
from config.local.embedded import Servers
from config.storage import replica
from tests.factories import CompanyFactory, MemberFactory, MessageFactory
from tests.stack.programs import wait_until
from tests.streaming_replica import Standby, replica_in_settings, standby_of

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", replica.ALIAS])
LAG = 20  # seconds: a busy machine must not look like a lagging replica


@pytest.fixture(scope="module")
def standby(servers: Servers) -> Iterator[Standby]:
    with standby_of(servers) as one:
        yield one


@pytest.fixture(scope="module", autouse=True)
def _replica_in_settings(standby: Standby, django_db_setup: None) -> Iterator[None]:
    with replica_in_settings(standby.url):
        yield


@pytest.fixture(autouse=True)
def watch(standby: Standby, monkeypatch: pytest.MonkeyPatch) -> Iterator[replica.Watch]:
    """The service set up with the replica."""
    if standby.process is None:
        standby.start()
    monkeypatch.setattr(replica, "INTERVAL", 0.05)
    monkeypatch.setattr("channels.history.export.BATCH_SIZE", 2)
    monkeypatch.setattr("billing.wallet.statement.CHUNK", 2)
    replica.watch.cache_clear()
    routers = [f"{replica.__name__}.{replica.Router.__name__}"]
    with override_settings(DATABASE_ROUTERS=routers, DATABASE_REPLICA_MAX_LAG=LAG):
        one = replica.watch()
        yield one
        one.stop()
        for thread in threading.enumerate():
            if thread.name == "replica-watch":
                thread.join(10)
        connections[replica.ALIAS].close_pool()  # type: ignore[attr-defined]
    replica.watch.cache_clear()


@pytest.fixture
def member(client: Client) -> Member:
    member: Member = MemberFactory.create(role=Member.Role.OWNER)
    client.force_login(member.user)
    return member


def at_standby(standby: Standby, statement: str) -> None:
    name = connections.settings["default"]["NAME"]
    with psycopg.connect(host=str(standby.sockets), user="kvitok", dbname=name) as session:
        session.execute(statement.encode())


@pytest.fixture
def paused(standby: Standby) -> Iterator[Callable[[], None]]:
    """Stops the replay: what is committed from now on is not on the replica."""
    yield lambda: at_standby(standby, "SELECT pg_wal_replay_pause()")
    if standby.process is None:
        standby.start()
    at_standby(standby, "SELECT pg_wal_replay_resume()")


def caught_up(watch: replica.Watch) -> None:
    moment = time.time()
    wait_until(lambda: watch.has(moment - replica.CLOCK_MARGIN))


def read_alias(must_see: float = 0.0) -> str:
    return replica.read(lambda: Message.objects.all().db, must_see=must_see)


def shown(client: Client) -> int:
    return len(client.get(reverse("message-list")).context["page"].rows)


def test_list_is_read_from_the_replica(
    client: Client, member: Member, watch: replica.Watch, paused: Callable[[], None]
) -> None:
    MessageFactory.create(company=member.company)
    caught_up(watch)
    paused()
    MessageFactory.create(company=member.company)

    assert shown(client) == 1


def test_own_change_is_seen_at_once(
    client: Client, member: Member, watch: replica.Watch, paused: Callable[[], None]
) -> None:
    caught_up(watch)
    paused()
    assert shown(client) == 0

    client.post(reverse("balance-alert"), {"low_balance": "5"})  # any change by this browser
    MessageFactory.create(company=member.company)

    assert shown(client) == 1


@pytest.mark.parametrize("cookie", ["", "junk", "nan", "inf", "-inf", "1e400"])
def test_forged_moment_opens_the_page(client: Client, member: Member, cookie: str) -> None:
    client.cookies["changed_at"] = cookie

    assert client.get(reverse("message-list")).status_code == 200


def test_lagging_replica_is_left(
    client: Client, member: Member, watch: replica.Watch, paused: Callable[[], None]
) -> None:
    caught_up(watch)
    paused()
    MessageFactory.create(company=member.company)

    assert shown(client) == 0
    with override_settings(DATABASE_REPLICA_MAX_LAG=1):
        wait_until(lambda: shown(client) == 1)

        assert read_alias() == "default"


def test_page_opens_while_the_replica_dies(
    client: Client, member: Member, watch: replica.Watch, standby: Standby
) -> None:
    MessageFactory.create(company=member.company)
    caught_up(watch)
    assert read_alias() == replica.ALIAS
    standby.kill()

    assert [shown(client) for _ in range(3)] == [1, 1, 1]

    standby.start()
    wait_until(lambda: read_alias() == replica.ALIAS)


@pytest.mark.parametrize("route", ["message-export", "link-export", "balance-csv"])
def test_download_goes_on_at_the_primary(
    client: Client,
    member: Member,
    watch: replica.Watch,
    standby: Standby,
    route: str,
) -> None:
    MessageFactory.create_batch(5, company=member.company)
    for amount in range(1, 6):
        ledger.grant(company=member.company, amount=amount, reason="")
    caught_up(watch)

    response: Any = client.get(reverse(route))
    lines = iter(response.streaming_content)
    head = [next(lines), next(lines)]
    if route != "link-export":
        head.append(next(lines))
        standby.kill()
    rest = list(lines)

    assert len(head + rest) == 2 + (0 if route == "link-export" else 5)
    assert AuditEvent.objects.filter(action__endswith="exported").count() == 1


def test_server_that_is_no_replica_is_not_read(
    watch: replica.Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = connections.settings["default"]
    monkeypatch.setitem(connections.settings, replica.ALIAS, dict(own))
    del connections[replica.ALIAS]
    try:
        watch.look()

        assert not watch.has(0.0)
    finally:
        del connections[replica.ALIAS]


def test_writes_locks_and_transactions_stay_at_the_primary(
    watch: replica.Watch, member: Member
) -> None:
    company: Company = CompanyFactory.create()
    caught_up(watch)

    def work() -> tuple[str, str, int]:
        ledger.grant(company=company, amount=7, reason="")
        with transaction.atomic():
            inside = Message.objects.all().db
            Wallet.objects.select_for_update().get(company=company)
        return inside, Message.objects.all().db, ledger.balance(company.pk)[0]

    assert replica.read(work, must_see=0.0) == ("default", replica.ALIAS, 7)


def test_nothing_else_reads_there(watch: replica.Watch) -> None:
    caught_up(watch)

    assert Message.objects.all().db == "default"
    assert page_of(Message.objects.all(), {}).rows == []
    assert running_balances.store(whole=True) == 0
