"""The request bodies a process is receiving, limited by count, sender, memory and time."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, NamedTuple
from wsgiref.types import WSGIEnvironment

from django.conf import settings


@dataclass(frozen=True)
class BodyLimits:
    """The limits of a process; times in seconds, sizes in bytes."""

    deadline: float  # from the headers to the end of the body
    max_bodies: int  # at once
    max_per_sender: int
    memory: int  # received so far, all bodies together
    slow: float = 1.0  # a body older than this may be evicted for a new one
    unread: float = 60.0  # how long a client may read nothing of its response

    @classmethod
    def from_settings(cls) -> "BodyLimits":
        return cls(
            deadline=settings.BODY_TIMEOUT,
            max_bodies=settings.MAX_BODIES,
            max_per_sender=settings.MAX_BODIES_PER_SENDER,
            memory=settings.MAX_BODY_MEMORY,
            unread=settings.UNREAD_TIMEOUT,
        )


@dataclass(eq=False, slots=True)
class BufferedBody:
    """A body being received. `future` is the next frame from granian."""

    environ: WSGIEnvironment
    protocol: Any
    sender: str
    max_bytes: int
    length: int | None  # None: sent in chunks
    started: float = field(default_factory=time.monotonic)
    parts: list[bytes] = field(default_factory=list)
    size: int = 0
    future: Any = None
    # Chunked: an empty frame arrived, which is the last one or a premature end. A trailer looks
    # like the latter, so it is refused: a truncated form could mean something else.
    is_ending: bool = False
    is_removed: bool = False  # its request is being answered


class AddResult(NamedTuple):
    """Whether a body was added, and the slow body evicted for it."""

    is_added: bool
    evicted: BufferedBody | None = None


class BufferedBodies:
    """The bodies being received. Only the thread that removes a body responds to its request."""

    def __init__(self, bounds: BodyLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._bounds = bounds
        self._clock = clock
        self._lock = Lock()
        self._all: OrderedDict[BufferedBody, None] = OrderedDict()  # the oldest first
        self._senders: dict[str, OrderedDict[BufferedBody, None]] = {}
        self._memory = 0

    def __len__(self) -> int:
        return len(self._all)

    def add(self, body: BufferedBody) -> AddResult:
        with self._lock:
            of_sender = self._senders.get(body.sender, OrderedDict[BufferedBody, None]())
            victim = None
            if len(of_sender) >= self._bounds.max_per_sender:
                victim = self._slowest(of_sender)
            elif len(self._all) >= self._bounds.max_bodies:
                victim = self._slowest(self._all)
            else:
                self._insert(body)
                return AddResult(is_added=True)
            if victim is None:
                return AddResult(is_added=False)
            self._remove(victim)
            self._insert(body)
            return AddResult(is_added=True, evicted=victim)

    def grow(self, body: BufferedBody, part: bytes) -> BufferedBody | None:
        """Stores a part; returns the slow body evicted to stay within the memory limit."""
        with self._lock:
            if body.is_removed:  # already removed: nothing would subtract this part
                return None
            body.parts.append(part)
            body.size += len(part)
            self._memory += len(part)
            if self._memory <= self._bounds.memory:
                return None
            victim = self._slowest(self._all)
            if victim is not None:
                self._remove(victim)
            return victim

    def take(self, body: BufferedBody) -> bool:
        """Removes the body; False if another thread already has."""
        with self._lock:
            if body.is_removed:
                return False
            self._remove(body)
            return True

    def take_late(self, *, is_stopping: bool = False) -> list[BufferedBody]:
        """Removes the bodies past their deadline; when stopping, all slow ones."""
        with self._lock:
            allowed = self._bounds.slow if is_stopping else self._bounds.deadline
            before = self._clock() - allowed
            late = []
            for body in self._all:
                if body.started > before:
                    break
                late.append(body)
            for body in late:
                self._remove(body)
            return late

    def _slowest(self, bodies: OrderedDict[BufferedBody, None]) -> BufferedBody | None:
        oldest = next(iter(bodies), None)
        if oldest is None or self._clock() - oldest.started < self._bounds.slow:
            return None
        return oldest

    def _insert(self, body: BufferedBody) -> None:
        self._all[body] = None
        self._senders.setdefault(body.sender, OrderedDict())[body] = None

    def _remove(self, body: BufferedBody) -> None:
        body.is_removed = True
        self._memory -= body.size
        del self._all[body]
        of_sender = self._senders[body.sender]
        del of_sender[body]
        if not of_sender:
            del self._senders[body.sender]
