"""A process whose log lines nobody takes."""

import json
import logging
import os
from collections.abc import Callable

import pytest
import structlog
from django.conf import settings
from django.core.exceptions import TooManyFieldsSent

from processes.logs import mask_event

log = structlog.get_logger(__name__)


def full_disk() -> int:
    return os.open("/dev/full", os.O_WRONLY)


def pipe_without_reader() -> int:
    reader, writer = os.pipe()
    os.close(reader)
    return writer


@pytest.mark.parametrize("broken", [full_disk, pipe_without_reader])
def test_line_that_cannot_be_written_fails_nothing(broken: Callable[[], int]) -> None:
    before = os.dup(2)
    descriptor = broken()
    os.dup2(descriptor, 2)  # here: pytest puts its own in place after a fixture

    try:
        log.error("nobody_reads_this")  # raises nothing, or every API call would be a 500
    finally:
        os.dup2(before, 2)
        os.close(before)
        os.close(descriptor)


def line_of(record: logging.LogRecord) -> dict[str, str]:
    """Returns the line as stderr gets it."""
    factory = settings.LOGGING["formatters"]["json"]
    formatter = factory["()"](**{name: value for name, value in factory.items() if name != "()"})
    line: dict[str, str] = json.loads(formatter.format(record))
    return line


def test_request_that_django_refuses_is_not_an_error() -> None:
    error = TooManyFieldsSent("too many")
    record = logging.LogRecord(
        "django.security.TooManyFieldsSent",
        logging.ERROR,
        __file__,
        1,
        "too many",
        (),
        (TooManyFieldsSent, error, None),
    )

    line = line_of(record)

    assert (line["level"], line["event"]) == ("warning", "too many")
    assert "exception" not in line


@pytest.mark.parametrize("agent", ["Phone79161234567", "a79161234567b/1.0", "tel_+79161234567"])
def test_user_agent_is_not_logged(agent: str) -> None:
    event = mask_event(None, "", {"event": "request_started", "user_agent": agent})

    assert event == {"event": "request_started"}
