"""Group commit: writes of one process that come together share a statement and its commit.

A write that finds none under way runs alone and at once. Those that come meanwhile wait, and the
first of them takes the others along when it ends. So an idle service answers as fast as without
groups, and the busier it is the fewer statements a write needs.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from copy import copy
from typing import Generic, TypeVar

from django.db import IntegrityError, connection

AT_ONCE = 1  # statements under way from which on others wait
LARGEST = 16  # writes of a group
PATIENCE = 0.1  # seconds until one that takes that long, waiting for a lock say, is not waited for

Write = TypeVar("Write")
Result = TypeVar("Result")


class _Member(Generic[Write, Result]):
    """A write on its own thread, which may wait for others."""

    __slots__ = ("error", "group", "result", "turn", "write")

    def __init__(self, write: Write) -> None:
        self.write = write
        self.turn = threading.Lock()  # released once it has a group to lead, a result or an error
        self.group: list[_Member[Write, Result]] = []  # that it leads
        self.result: Result | None = None
        self.error: BaseException | None = None


class GroupCommit(Generic[Write, Result]):
    """`alone` runs one write; `together` several, and has None for each that must run alone.

    Both are one commit. A group that broke a constraint wrote nothing: each member runs alone then.
    Any other error of `together` is every member's.
    """

    def __init__(
        self,
        alone: Callable[[Write], Result],
        together: Callable[[Sequence[Write]], Sequence[Result | None]],
    ) -> None:
        self._alone, self._together = alone, together
        self._lock = threading.Lock()
        self._waiting: deque[_Member[Write, Result]] = deque()
        self._under_way = 0
        self._started_at = 0.0  # of the last write or group

    def run(self, write: Write) -> Result:
        """The result of this write. In a transaction of the caller's it runs alone."""
        if connection.in_atomic_block:
            return self._alone(write)
        member = _Member[Write, Result](write)
        self._wait_for_turn(member)
        if len(member.group) == 1:
            try:
                return self._alone(write)
            finally:
                self._start_next()
        if member.group:
            self._lead(member.group)
        if member.error is not None:
            raise copy(member.error) from member.error.__cause__
        return self._alone(write) if member.result is None else member.result

    def _wait_for_turn(self, member: _Member[Write, Result]) -> None:
        with self._lock:
            if self._under_way < AT_ONCE:
                self._under_way += 1
                self._started_at = time.monotonic()
                member.group = [member]
                return
            member.turn.acquire()
            self._waiting.append(member)
        connection.close()  # back to the pool, where those that it waits for may need it
        while not member.turn.acquire(timeout=PATIENCE):
            self._pass_by_slow_ones()

    def _pass_by_slow_ones(self) -> None:
        """Another group beside what is under way: not all that wait, which would be a rush."""
        with self._lock:
            if self._waiting and time.monotonic() >= self._started_at + PATIENCE:
                self._under_way += 1
                self._start_group()

    def _lead(self, group: list[_Member[Write, Result]]) -> None:
        try:
            results = self._together([member.write for member in group])
            for member, result in zip(group, results, strict=True):
                member.result = result
        except IntegrityError:
            pass
        except BaseException as error:
            for member in group:
                member.error = error
        finally:
            self._start_next()
            for member in group[1:]:
                member.turn.release()

    def _start_next(self) -> None:
        """After a write or a group: those that wait are the next one."""
        with self._lock:
            if self._waiting and self._under_way <= AT_ONCE:
                self._start_group()
            else:
                self._under_way -= 1

    def _start_group(self) -> None:
        """The first of those that wait leads it."""
        many = min(len(self._waiting), LARGEST)
        group = [self._waiting.popleft() for _ in range(many)]
        self._started_at = time.monotonic()
        group[0].group = group
        group[0].turn.release()
