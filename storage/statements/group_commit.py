"""Group commit: concurrent writes of one process share a statement and its commit.

A write runs alone and at once if no other runs. Writes that arrive meanwhile wait; then the first
of them writes for all of them. So an idle service answers as fast as without groups, and the busier
it is, the fewer statements a write needs.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from copy import copy
from typing import Generic, TypeVar

from django.db import connection

from storage.store_errors import is_refused_by_database

MAX_GROUP = 16  # writes of a group, with the one that leads it
MAX_LEADER_WAIT = 0.1  # seconds; then the next group starts alongside one that waits for a lock

Write = TypeVar("Write")
Result = TypeVar("Result")


class _Member(Generic[Write, Result]):
    """A write on its own thread, which may wait for others."""

    __slots__ = ("error", "group", "result", "turn", "write")

    def __init__(self, write: Write) -> None:
        self.write = write
        self.turn = threading.Lock()  # released when its group has ended, or when it is to lead one
        self.group: list[_Member[Write, Result]] = []  # the group that it leads
        self.result: Result | None = None
        self.error: BaseException | None = None


class GroupCommit(Generic[Write, Result]):
    """Groups concurrent writes of one kind.

    `alone` runs one write; `together` runs several, and returns None for each left to run alone.
    Each call of either is one commit. A group that the database refuses has written nothing, so its
    members then run alone. Any other error of `together` is raised for every member, because the
    group may have been written.
    """

    def __init__(
        self,
        alone: Callable[[Write], Result],
        together: Callable[[Sequence[Write]], Sequence[Result | None]],
    ) -> None:
        self._alone = alone
        self._together = together
        self._lock = threading.Lock()
        self._waiting: deque[_Member[Write, Result]] = deque()
        # The leader of the group that others wait for. Nobody waits for one that was passed.
        self._leader: _Member[Write, Result] | None = None
        self._started_at = 0.0

    def run(self, write: Write) -> Result:
        """The result of this write, which runs alone if the caller has a transaction."""
        if connection.in_atomic_block:
            return self._alone(write)
        member = _Member[Write, Result](write)
        self._wait_for_turn(member)
        if len(member.group) == 1:
            try:
                return self._alone(write)
            finally:
                self._start_next(member)
        if member.group:
            self._lead(member)
        if member.error is not None:
            # A copy for each: raising changes an error's context, and threads would share it.
            error = copy(member.error).with_traceback(member.error.__traceback__)
            raise error from member.error.__cause__
        # A write without a result was left out; it runs alongside the next group.
        return self._alone(write) if member.result is None else member.result

    def _wait_for_turn(self, member: _Member[Write, Result]) -> None:
        with self._lock:
            if self._leads_alone(member):
                return
        # Returns the connection to the pool, as the writes that it waits for may need it. Before it
        # queues: if closing fails, nobody may be waiting for this thread.
        connection.close()
        with self._lock:
            if self._leads_alone(member):
                return
            member.turn.acquire()  # released by the thread that gives it a turn
            self._waiting.append(member)
        while not member.turn.acquire(timeout=MAX_LEADER_WAIT):
            self._start_group_past_slow_leader()

    def _leads_alone(self, member: _Member[Write, Result]) -> bool:
        if self._leader is not None:
            return False
        member.group = [member]
        self._make_leader(member)
        return True

    def _start_group_past_slow_leader(self) -> None:
        """Starts one group: a statement for each waiting write would overload the server."""
        with self._lock:
            if self._waiting and time.monotonic() >= self._started_at + MAX_LEADER_WAIT:
                self._start_group()

    def _lead(self, leader: _Member[Write, Result]) -> None:
        group = leader.group
        try:
            results = self._together([member.write for member in group])
            for member, result in zip(group, results, strict=True):
                member.result = result
        except BaseException as error:
            if not (isinstance(error, Exception) and is_refused_by_database(error)):
                for member in group:
                    member.error = error
        finally:
            try:
                self._start_next(leader)
            finally:
                for member in group[1:]:
                    member.turn.release()

    def _start_next(self, leader: _Member[Write, Result]) -> None:
        """Starts the next leader after the group; one that was passed has a successor already."""
        with self._lock:
            if self._leader is not leader:
                return
            if self._waiting:
                self._start_group()
            else:
                self._leader = None

    def _start_group(self) -> None:
        count = min(len(self._waiting), MAX_GROUP)
        group = [self._waiting.popleft() for _ in range(count)]
        group[0].group = group
        self._make_leader(group[0])
        group[0].turn.release()

    def _make_leader(self, member: _Member[Write, Result]) -> None:
        self._leader = member
        self._started_at = time.monotonic()
