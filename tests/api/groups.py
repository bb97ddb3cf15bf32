"""Calls that come together, so that they share a statement."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from unittest.mock import patch

from storage.statements import group_commit
from storage.statements.group_commit import GroupCommit
from tests.api.blocking import on_own_connection
from tests.stack.programs import wait_until

T = TypeVar("T")


def in_one_group(
    group: GroupCommit[Any, Any],
    calls: Sequence[Callable[[], T]],
    *,
    meanwhile: Callable[[], object] = int,
) -> list[T]:
    """Starts all calls while no place is free, then `meanwhile`; returns the calls' results."""
    with patch.object(group_commit, "MAX_LEADER_WAIT", 30):
        return _in_one_group(group, calls, meanwhile)


def _in_one_group(
    group: GroupCommit[Any, Any], calls: Sequence[Callable[[], T]], meanwhile: Callable[[], object]
) -> list[T]:
    nobody = group_commit._Member[Any, Any](None)
    with group._lock:
        assert group._leader is None
        group._make_leader(nobody)
    with ThreadPoolExecutor(len(calls)) as pool:
        running = [pool.submit(on_own_connection, call) for call in calls]
        try:
            wait_until(lambda: len(group._waiting) == len(calls), 25)
            meanwhile()
        finally:
            group._start_next(nobody)
        return [future.result() for future in running]
