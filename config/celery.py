"""The Celery application, the delivery loops as a step of its worker, and beat's scheduler."""

import logging
import os
import threading
import time
from contextlib import suppress
from typing import Any, Protocol

from celery import Celery, bootsteps
from celery.beat import PersistentScheduler
from celery.signals import beat_init, setup_logging
from django.conf import settings
from kombu.transport import TRANSPORT_ALIASES

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

TRANSPORT_ALIASES["redis"] = "storage.celery_broker:Transport"
logger = logging.getLogger(__name__)
app = Celery("kvitok")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

# Limits a publish when the broker is down or hangs. For publishers only: a worker's own
# connection blocks on its queue for longer on purpose.
CAPPED = {
    "socket_timeout": 0.3,
    "socket_connect_timeout": 0.3,
    "max_retries": 1,
    "interval_start": 0,
    "interval_step": 0,
    "interval_max": 0,
}


class Loop(Protocol):
    def run(self) -> None: ...
    def stop(self) -> None: ...


class DeliveryStep(bootsteps.StartStopStep):
    """Runs the loops for messages and for webhooks and the sweeps next to the worker's tasks. They
    need no broker, and stop claiming at the first SIGTERM.
    """

    requires = ("celery.worker.components:Pool",)

    def start(self, parent: Any) -> None:
        # Imported here: these need Django set up.
        from channels.deliver.dispatcher import Dispatcher  # noqa: PLC0415
        from channels.deliver.sweeps import poll_thread, sweep_thread  # noqa: PLC0415
        from processes.monitoring import metrics  # noqa: PLC0415
        from storage.months import partitions  # noqa: PLC0415
        from webhooks.dispatcher import WebhookDispatcher  # noqa: PLC0415

        metrics.start()
        self.loops: dict[str, Loop] = {
            "delivery": Dispatcher(),
            "webhooks": WebhookDispatcher(),
            "sweep": sweep_thread(),
            "poll": poll_thread(),
            "months": partitions.analyzing_thread(),
        }
        self.threads = [
            threading.Thread(target=loop.run, name=name, daemon=True)
            for name, loop in self.loops.items()
        ]
        for thread in self.threads:
            thread.start()

    def stop(self, parent: Any) -> None:
        for loop in self.loops.values():
            loop.stop()
        longest_call = max(sum(settings.PROVIDER_TIMEOUT), settings.WEBHOOK_TIMEOUT)
        ends_at = time.monotonic() + longest_call + 2
        for thread in self.threads:
            thread.join(timeout=max(0.0, ends_at - time.monotonic()))

    terminate = stop


app.steps["worker"].add(DeliveryStep)


@beat_init.connect
def cap_publishing(**_options: Any) -> None:
    """Bounds publishing from web processes and beat, which a hanging broker must not block."""
    app.conf.broker_connection_timeout = 0.3
    app.conf.broker_transport_options = settings.CELERY_BROKER_TRANSPORT_OPTIONS | CAPPED
    app.conf.task_publish_retry = False


@setup_logging.connect
def keep_our_logging(**_options: Any) -> None:
    """Keeps Celery from installing log handlers: Django's settings already did."""


class Scheduler(PersistentScheduler):
    """The scheduler. Its file only stores when a task last ran, so nothing
    about it may stop the schedule.
    """

    _store: Any
    _destroy_open_corrupted_schedule: Any  # the stubs have neither

    def setup_schedule(self) -> None:
        """Replaces a file that a power cut, a full disk or SIGKILL damaged. Celery does so for few
        of the errors that pickle and the kinds of dbm raise.
        """
        try:
            super().setup_schedule()
        except Exception as error:
            with suppress(Exception):
                self._store.close()
            self._store = self._destroy_open_corrupted_schedule(error)
            super().setup_schedule()

    def sync(self) -> None:
        try:
            super().sync()
        except OSError:  # of any kind of dbm, too
            logger.exception("the schedule's file cannot be written")

    def tick(self, *args: Any, **options: Any) -> float:
        """Counts from now for tasks that ran at a time still to come: after the clock was put back
        none would run until it is there again, days later where a machine woke in the wrong year.
        """
        now = self.app.now()
        for entry in self.schedule.values():
            if entry.last_run_at is not None and entry.last_run_at > now:
                entry.last_run_at, self._heap = now, None
        delay: float = super().tick(*args, **options)
        return delay

    def adjust(self, n: float, drift: float = 0.0) -> float:
        """Celery wakes up 10 ms early, finds that the task is not due, and asks again without a
        pause until it is: for four tasks a second 40 ms of CPU.
        """
        return n
