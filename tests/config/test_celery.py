"""What a worker runs by itself, and what the beat schedules."""

import threading
from collections.abc import Iterator

import pytest
from celery import current_app
from django.conf import settings

from channels.models import Message
from config.celery import DeliveryStep
from tests.api.clients import Api
from tests.channels.message_stages import send
from tests.factories import EndpointFactory
from tests.otp.sent_codes import age_rows
from tests.stack.programs import wait_until
from tests.storage.months.young_months import YoungMonth, young_month
from tests.webhooks.receivers import Receiver, listening
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


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with listening() as one:
        yield one


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
def test_worker_alone_ends_what_is_overdue(api: Api, request: pytest.FixtureRequest) -> None:
    send(api)
    age_rows(seconds=700)

    request.getfixturevalue("worker")

    wait_until(lambda: Message.objects.get().state == "expired")


def test_stopped_worker_leaves_no_loop(worker: DeliveryStep) -> None:
    worker.stop(None)

    assert not {thread.name for thread in threading.enumerate()} & worker.loops.keys()


def test_beat_schedules_tasks_that_exist() -> None:
    current_app.loader.import_default_modules()
    scheduled = {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}

    assert scheduled <= current_app.tasks.keys()
