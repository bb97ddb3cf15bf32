"""The request bodies a process is receiving: how many, whose, and for how long."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any
from wsgiref.types import WSGIEnvironment


@dataclass(frozen=True)
class BodyLimits:
    """Per process; times in seconds, sizes in bytes."""

    deadline: float  # for a whole body, from its headers on
    most: int  # bodies at once
    most_per_sender: int
    memory: int  # of what has arrived of them
    slow: float = 1.0  # a body that takes longer gives way to another
    unread: float = 60.0  # for a client that takes nothing of its answer


@dataclass(eq=False, slots=True)
class BufferedBody:
    """One body on its way. `future` is the frame that granian waits for."""

    environ: WSGIEnvironment
    protocol: Any
    sender: str
    longest: int
    length: int | None  # None: sent in chunks
    started: float = field(default_factory=time.monotonic)
    parts: list[bytes] = field(default_factory=list)
    size: int = 0
    future: Any = None
    is_ending: bool = False  # in chunks: nothing came, which is the end or an end too early
    is_over: bool = False  # somebody answers, or has answered


class BufferedBodies:
    """Whoever takes a body out of here, and nobody else, answers its request."""

    def __init__(self, bounds: BodyLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._bounds = bounds
        self._clock = clock
        self._lock = Lock()
        self._all: OrderedDict[BufferedBody, None] = OrderedDict()  # the oldest first
        self._senders: dict[str, OrderedDict[BufferedBody, None]] = {}
        self._memory = 0

    def __len__(self) -> int:
        return len(self._all)

    def add(self, body: BufferedBody) -> tuple[bool, BufferedBody | None]:
        """Whether there is room, and the slow one that was taken out to make it."""
        with self._lock:
            theirs = self._senders.get(body.sender, OrderedDict[BufferedBody, None]())
            victim = None
            if len(theirs) >= self._bounds.most_per_sender:
                victim = self._slowest(theirs)
            elif len(self._all) >= self._bounds.most:
                victim = self._slowest(self._all)
            else:
                self._insert(body)
                return True, None
            if victim is None:
                return False, None
            self._remove(victim)
            self._insert(body)
            return True, victim

    def grow(self, body: BufferedBody, part: bytes) -> BufferedBody | None:
        """Note what arrived; the slow body that was taken out to keep to the memory, if any."""
        with self._lock:
            if body.is_over:  # taken out meanwhile: nobody would ever subtract this part
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
        """Take it out; False when another has."""
        with self._lock:
            if body.is_over:
                return False
            self._remove(body)
            return True

    def take_late(self, *, is_stopping: bool = False) -> list[BufferedBody]:
        """Those past their deadline; of a process that stops, all that are slow."""
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
        body.is_over = True
        self._memory -= body.size
        del self._all[body]
        theirs = self._senders[body.sender]
        del theirs[body]
        if not theirs:
            del self._senders[body.sender]
