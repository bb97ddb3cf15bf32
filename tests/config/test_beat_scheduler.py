"""Beat on real time: it runs what is due, and sleeps meanwhile. And beat with a damaged file."""

import shutil
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from celery import Celery
from celery.beat import Service
from django.conf import settings
from kombu.utils.imports import symbol_by_name

INTERVAL, RUNS = 0.2, 5
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
    began, ticks = time.monotonic(), 0

    with closing(beat(tmp_path).scheduler) as scheduler:
        while scheduler.schedule["one"].total_run_count < RUNS:
            ticks += 1
            time.sleep(max(0.0, scheduler.tick() or 0.0))

    assert time.monotonic() - began >= INTERVAL * (RUNS - 1)
    assert ticks <= RUNS * 4


@pytest.mark.parametrize("damage", DAMAGES)
def test_beat_starts_with_a_damaged_file(damage: str, tmp_path: Path) -> None:
    whole, damaged = tmp_path / "whole", tmp_path / "damaged"
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
    place, elsewhere = tmp_path / "place", tmp_path / "elsewhere"
    place.mkdir()

    with closing(beat(place).scheduler) as scheduler:
        place.rename(elsewhere)
        scheduler.sync()  # as in beat's pauses
        elsewhere.rename(place)

        assert "one" in scheduler.schedule
