"""What a process does when nobody takes its lines."""

import os
from collections.abc import Callable

import pytest
import structlog

log = structlog.get_logger(__name__)


def full_disk() -> int:
    return os.open("/dev/full", os.O_WRONLY)


def pipe_without_reader() -> int:
    reader, writer = os.pipe()
    os.close(reader)
    return writer


@pytest.mark.parametrize("broken", [full_disk, pipe_without_reader])
def test_line_that_cannot_be_written_fails_nothing(broken: Callable[[], int]) -> None:
    before, descriptor = os.dup(2), broken()
    os.dup2(descriptor, 2)  # here: pytest puts its own in place after a fixture

    try:
        log.error("nobody_reads_this")  # raises nothing, or every API call would be a 500
    finally:
        os.dup2(before, 2)
        os.close(before)
        os.close(descriptor)
