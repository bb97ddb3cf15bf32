"""The Celery application, the delivery loops as a step of its worker, and beat's scheduler."""

import logging
import os
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
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

# Limits how long a publish takes if the broker is down or hangs. For publishers only: a worker's
# connection deliberately blocks on its queue for longer.
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
    """Runs the loops of messages, webhooks and sweeps in the worker, next to its tasks.

    The loops need no broker, and stop claiming work at the first SIGTERM.
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
            "months": partitions.months_thread(),
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
    """Keeps Celery from installing log handlers: Django has configured logging."""


LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


class Scheduler(PersistentScheduler):
    """Beat's scheduler, which no error of its file can stop.

    The file only stores when each task last ran.
    """

    _store: Any
    _destroy_open_corrupted_schedule: Any  # the stubs have neither

    def setup_schedule(self) -> None:
        """Sets the schedule up; replaces a file damaged by a power cut, a full disk or SIGKILL.

        Celery handles only a few of the errors that pickle and the dbm modules raise.
        """
        try:
            super().setup_schedule()
        except Exception as error:
            with suppress(Exception):
                self._store.close()
            self._store = self._destroy_open_corrupted_schedule(error)
            super().setup_schedule()
        # Counted from beat's start, an hourly task would never run where pods live less than that.
        for entry in self.schedule.values():
            if not entry.total_run_count:
                entry.last_run_at = LONG_AGO

    def sync(self) -> None:
        try:
            super().sync()
        except OSError:  # every dbm module's errors are subclasses
            logger.exception("the schedule's file cannot be written")

    def tick(self, *args: Any, **options: Any) -> float:
        """Runs due tasks after it has reset last runs that are in the future.

        After the clock was set back, tasks would otherwise wait until that time comes again, days
        later if a machine started in the wrong year.
        """
        now = self.app.now()
        for entry in self.schedule.values():
            if entry.last_run_at is not None and entry.last_run_at > now:
                entry.last_run_at = now
                self._heap = None
        delay: float = super().tick(*args, **options)
        return delay

    def adjust(self, n: float, drift: float = 0.0) -> float:
        """The delay without Celery's adjustment, which wakes beat up 10 ms early.

        Until the task is due beat would poll without a pause, which costs 40 ms of CPU a second for
        four tasks.
        """
        return n
