"""Writes that come together: one statement, each its own result, nobody left waiting."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from traceback import format_exception
from typing import Any
from unittest.mock import patch

import pytest
from django.db import DataError, IntegrityError, OperationalError, connection, transaction

from storage.statements import group_commit
from storage.statements.group_commit import MAX_GROUP, GroupCommit
from tests.api.groups import in_one_group
from tests.stack.programs import wait_until


class Doubling:
    """Doubles numbers; notes which it was given alone and which together."""

    def __init__(self, error: BaseException | None = None, left_out: int | None = None) -> None:
        self.error = error
        self.left_out = left_out
        self.alone: list[int] = []
        self.together: list[list[int]] = []
        self.group = GroupCommit[int, int](self._one, self._several)

    def _one(self, number: int) -> int:
        self.alone.append(number)
        return 2 * number

    def _several(self, numbers: Sequence[int]) -> list[int | None]:
        self.together.append(list(numbers))
        if self.error is not None:
            raise self.error
        return [None if number == self.left_out else 2 * number for number in numbers]

    def calls(self, count: int) -> list[Any]:
        return [partial(self.group.run, number) for number in range(count)]


def test_single_call_is_not_grouped() -> None:
    doubling = Doubling()

    assert doubling.group.run(4) == 8
    assert (doubling.alone, doubling.together) == ([4], [])


def test_waiting_calls_run_together() -> None:
    doubling = Doubling()

    assert in_one_group(doubling.group, doubling.calls(5)) == [0, 2, 4, 6, 8]
    assert doubling.alone == []
    assert [sorted(numbers) for numbers in doubling.together] == [[0, 1, 2, 3, 4]]


def test_groups_have_a_largest_size() -> None:
    doubling = Doubling()
    count = 2 * MAX_GROUP + 2

    assert in_one_group(doubling.group, doubling.calls(count)) == [2 * n for n in range(count)]
    assert [len(numbers) for numbers in doubling.together] == [MAX_GROUP, MAX_GROUP, 2]


def test_excluded_call_runs_alone() -> None:
    doubling = Doubling(left_out=1)

    assert in_one_group(doubling.group, doubling.calls(3)) == [0, 2, 4]
    assert doubling.alone == [1]


@pytest.mark.parametrize("error", [IntegrityError(), DataError()])
def test_group_that_was_not_written_runs_one_by_one(error: Exception) -> None:
    doubling = Doubling(error=error)

    assert in_one_group(doubling.group, doubling.calls(3)) == [0, 2, 4]
    assert sorted(doubling.alone) == [0, 1, 2]


@pytest.mark.parametrize("error", [OperationalError("gone"), SystemExit()])
def test_other_error_is_raised_for_every_member(error: BaseException) -> None:
    doubling = Doubling(error=error)
    cause = error.__cause__ = ValueError()

    def outcome(number: int) -> BaseException | None:
        try:
            doubling.group.run(number)
        except BaseException as found:
            return found
        return None

    found = in_one_group(doubling.group, [partial(outcome, number) for number in range(3)])

    assert [type(raised) for raised in found] == [type(error)] * 3
    assert len(set(map(id, found))) == 3, "of one error's traceback all threads would write"
    assert all(raised and raised.__cause__ is cause for raised in found)
    assert all("_several" in "".join(format_exception(raised)) for raised in found if raised)
    assert doubling.alone == []


def test_place_is_free_again_after_an_error() -> None:
    class UnwritableError(Exception):
        pass

    def refuse(_number: int) -> int:
        raise UnwritableError

    group = GroupCommit[int, int](refuse, list)

    for _ in range(3):
        with pytest.raises(UnwritableError):
            group.run(1)
    assert group._leader is None


def test_slow_write_delays_nobody_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "MAX_LEADER_WAIT", 0.01)
    released = threading.Event()

    def run(number: int) -> int:
        assert number or released.wait(20)
        return number

    group = GroupCommit[int, int](run, list)
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(group.run, 0)
        wait_until(lambda: group._leader is not None)

        assert group.run(1) == 1
        monkeypatch.setattr(group_commit, "MAX_LEADER_WAIT", 60)
        assert [group.run(number) for number in (2, 3)] == [2, 3], "it is waited for once"
        assert not slow.done()
        released.set()
        assert slow.result(20) == 0
    assert (group._leader, list(group._waiting)) == (None, [])


def test_thread_failing_before_wait_blocks_nobody() -> None:
    doubling = Doubling()
    nobody = group_commit._Member[int, int](0)

    def run_without_a_server() -> None:
        lost = patch.object(connection, "close", side_effect=OperationalError)  # of this thread
        with lost, pytest.raises(OperationalError):
            doubling.group.run(1)

    doubling.group._make_leader(nobody)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(run_without_a_server).result(20)
    assert list(doubling.group._waiting) == [], "others would wait for it to lead them"
    doubling.group._start_next(nobody)

    assert doubling.group._leader is None
    assert doubling.group.run(2) == 4


@pytest.mark.django_db
def test_call_in_transaction_runs_alone() -> None:
    doubling = Doubling()
    with transaction.atomic(), ThreadPoolExecutor(1) as pool:
        doubling.group._make_leader(group_commit._Member(0))  # it would have to wait
        assert doubling.group.run(3) == 6
        doubling.group._leader = None
        assert pool.submit(doubling.group.run, 4).result(20) == 8


def test_each_thread_gets_its_own_result() -> None:
    doubling = Doubling(left_out=77)
    with ThreadPoolExecutor(32) as pool:
        result = list(pool.map(doubling.group.run, range(5_000)))

    assert result == [2 * number for number in range(5_000)]
    numbers = doubling.alone + [number for batch in doubling.together for number in batch]
    assert sorted({*numbers}) == list(range(5_000))
    assert len(numbers) - 5_000 in {0, 1}, "nothing runs twice but what was left out"
    assert doubling.group._leader is None
