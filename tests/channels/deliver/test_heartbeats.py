"""Heartbeats of background processes, and their removal."""

import pytest
from pytest_django import Settings

from channels.deliver.dispatcher import Dispatcher
from channels.deliver.heartbeats import HeartbeatWriter
from channels.models import Heartbeat as Row
from channels.tasks import write_heartbeat
from tests.stack.programs import wait_until


@pytest.mark.django_db
def test_heartbeat_is_written_once_per_interval() -> None:
    heartbeat = HeartbeatWriter("web")
    heartbeat.record({"waiters": 3})
    heartbeat.record({"waiters": 4})

    row = Row.objects.get()
    assert (row.kind, row.details["waiters"]) == ("web", 3)


@pytest.mark.django_db
def test_silent_process_is_deleted_after_an_hour() -> None:
    Row.objects.create(process="web elsewhere 1", kind="web", at="2026-01-01T00:00:00Z")
    HeartbeatWriter("delivery").record()

    assert [row.kind for row in Row.objects.all()] == ["delivery"]


@pytest.mark.django_db(transaction=True)
def test_delivery_loop_writes_a_heartbeat(dispatcher: Dispatcher) -> None:
    wait_until(lambda: Row.objects.filter(kind="delivery").exists())


@pytest.mark.django_db(transaction=True)
def test_scheduled_task_writes_the_beats_heartbeat() -> None:
    write_heartbeat()

    assert Row.objects.get().process == "beat"


@pytest.mark.django_db
def test_heartbeat_names_the_keys_of_the_process_in_order(settings: Settings) -> None:
    settings.OTP_KEYS = {"k2": b"x" * 32, "k1": b"y" * 32}

    HeartbeatWriter("web").record({"waiters": 3})

    reported = Row.objects.get().details["keys"]["OTP_KEYS"]
    assert [fingerprint.partition(":")[0] for fingerprint in reported] == ["k2", "k1"]


@pytest.mark.django_db
def test_row_that_processes_share_names_no_keys() -> None:
    HeartbeatWriter("beat", shared=True).write({})

    assert Row.objects.get().details == {}
