"""Beat on real time: it runs what is due, and sleeps meanwhile."""

import time
from contextlib import closing
from pathlib import Path

from celery import Celery
from celery.beat import Service
from django.conf import settings
from kombu.utils.imports import symbol_by_name

INTERVAL, RUNS = 0.2, 5


def test_beat_sleeps_until_a_task_is_due(tmp_path: Path) -> None:
    app = Celery(broker="memory://", set_as_current=False)
    app.conf.beat_schedule = {"one": {"task": "one", "schedule": INTERVAL}}
    began, ticks = time.monotonic(), 0

    service = Service(
        app,
        schedule_filename=str(tmp_path / "schedule"),
        scheduler_cls=symbol_by_name(settings.CELERY_BEAT_SCHEDULER),
    )
    with closing(service.scheduler) as scheduler:
        while scheduler.schedule["one"].total_run_count < RUNS:
            ticks += 1
            time.sleep(max(0.0, scheduler.tick() or 0.0))

    assert time.monotonic() - began >= INTERVAL * (RUNS - 1)
    assert ticks <= RUNS * 4
