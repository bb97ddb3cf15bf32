"""The work that a worker runs by itself, and the schedule of the beat."""

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from celery import Celery, current_app
from celery.beat import Service
from django.conf import settings
from django.utils import timezone
from kombu.utils.imports import symbol_by_name
from time_machine import TimeMachineFixture

from channels.models import Message
from config.celery import DeliveryStep
from tests.api.clients import Api
from tests.channels.message_stages import send
from tests.factories import EndpointFactory
from tests.otp.sent_codes import age_rows
from tests.stack.programs import wait_until
from tests.storage.months.young_months import YoungMonth, young_month
from tests.webhooks.receivers import Receiver
from webhooks import deliveries
from webhooks.models import Delivery

__all__ = ["young_month"]


@pytest.fixture
def worker(transactional_db: None) -> Iterator[DeliveryStep]:
    """The step of a Celery worker, without the beat and without a broker."""
    step = DeliveryStep(None)
    step.start(None)
    yield step
    step.stop(None)


@pytest.mark.usefixtures("worker", "queued_at_once")
def test_worker_alone_delivers_messages(test_api: Api) -> None:
    send(test_api)

    wait_until(lambda: Message.objects.get().state == "delivered")


@pytest.mark.usefixtures("worker")
def test_worker_alone_delivers_webhooks(receiver: Receiver) -> None:
    deliveries.send_example(endpoint=EndpointFactory.create(url=receiver.url), kind="otp.verified")

    wait_until(lambda: Delivery.objects.get().state == "delivered")


def test_worker_alone_analyzes_a_new_month(
    young_month: YoungMonth, request: pytest.FixtureRequest
) -> None:
    young_month.add(120)

    request.getfixturevalue("worker")

    wait_until(lambda: young_month.known_rows == 120)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("queued_at_once")
def test_single_worker_settles_overdue_work(api: Api, request: pytest.FixtureRequest) -> None:
    send(api)
    age_rows(seconds=700)

    request.getfixturevalue("worker")

    wait_until(lambda: Message.objects.get().state == "expired")


def test_stopped_worker_leaves_no_loop(worker: DeliveryStep) -> None:
    worker.stop(None)

    assert not {thread.name for thread in threading.enumerate()} & worker.loops.keys()


def test_beat_schedules_only_existing_tasks() -> None:
    current_app.loader.import_default_modules()
    scheduled = {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}

    assert scheduled <= current_app.tasks.keys()


INTERVAL = 0.2
RUNS = 5
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _octets: b"",
    "cut short": lambda octets: octets[: len(octets) // 2],
    "zeros": lambda octets: bytes(len(octets)),
    "noise": lambda octets: bytes(range(256)) * (len(octets) // 256 + 1),
}


def beat(place: Path) -> Service:
    app = Celery(broker="memory://", set_as_current=False)
    app.conf.beat_schedule = {"one": {"task": "one", "schedule": INTERVAL}}
    return Service(
        app,
        schedule_filename=str(place / "schedule"),
        scheduler_cls=symbol_by_name(settings.CELERY_BEAT_SCHEDULER),
    )


def test_beat_sleeps_until_a_task_is_due(tmp_path: Path) -> None:
    began = time.monotonic()
    ticks = 0

    with closing(beat(tmp_path).scheduler) as scheduler:
        while scheduler.schedule["one"].total_run_count < RUNS:
            ticks += 1
            time.sleep(max(0.0, scheduler.tick() or 0.0))

    assert time.monotonic() - began >= INTERVAL * (RUNS - 1)
    assert ticks <= RUNS * 4


def test_task_without_a_stored_run_is_due_at_once(tmp_path: Path) -> None:
    """A pod without a volume may live for less than an interval, again and again."""
    service = beat(tmp_path)
    service.app.conf.beat_schedule["one"]["schedule"] = 3600.0

    for runs in (1, 1):  # the second starts from the file
        with closing(service.scheduler) as scheduler:
            scheduler.tick()
            assert scheduler.schedule["one"].total_run_count == runs
        service = beat(tmp_path)
        service.app.conf.beat_schedule["one"]["schedule"] = 3600.0


def test_beat_continues_when_clock_goes_back(
    tmp_path: Path, time_machine: TimeMachineFixture
) -> None:
    time_machine.move_to(timezone.now() + timedelta(days=400))
    with closing(beat(tmp_path).scheduler) as scheduler:
        time_machine.move_to(timezone.now() - timedelta(days=400))
        ends_at = time.monotonic() + INTERVAL * 10
        while scheduler.schedule["one"].total_run_count < RUNS and time.monotonic() < ends_at:
            time.sleep(min(INTERVAL, scheduler.tick()))

        assert scheduler.schedule["one"].total_run_count == RUNS


@pytest.mark.parametrize("damage", DAMAGES)
def test_beat_starts_with_a_damaged_file(damage: str, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    damaged = tmp_path / "damaged"
    whole.mkdir()
    beat(whole).scheduler.close()

    for name in [path.name for path in whole.iterdir()]:
        shutil.copytree(whole, damaged)
        (damaged / name).write_bytes(DAMAGES[damage]((damaged / name).read_bytes()))
        for _start in range(2):  # the second reads the new file
            with closing(beat(damaged).scheduler) as scheduler:
                assert "one" in scheduler.schedule
        shutil.rmtree(damaged)


def test_beat_runs_on_while_its_file_cannot_be_written(tmp_path: Path) -> None:
    place = tmp_path / "place"
    elsewhere = tmp_path / "elsewhere"
    place.mkdir()

    with closing(beat(place).scheduler) as scheduler:
        place.rename(elsewhere)
        scheduler.sync()  # as in beat's pauses
        elsewhere.rename(place)

        assert "one" in scheduler.schedule
