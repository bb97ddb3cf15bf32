"""The people of a live run: each asks for a code, waits for it, types it, or gives up."""

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tools.replay.timeline import Send
from tools.stack.clients import Arrival, Client, LogFollower, Scheduler

THREADS = 128  # a send holds one until it has its outcome
TIMEOUT = (5.0, 30.0)  # seconds


@dataclass(slots=True)
class Visit:
    """One send and what came of it; times are seconds since 1970 but for `verified`."""

    send: Send
    token: str  # of the company that it is sent for
    started: float = math.inf
    answered: float = math.inf
    refusal: str = ""  # the API's code, where it did not send
    is_typing: bool = False
    verified: float = math.inf  # seconds from its start


@dataclass(slots=True)
class Phase:
    """Visits in the order of time, and what must be done before the first."""

    visits: Sequence[Visit]
    prepare: Callable[[], None]
    began: float = 0.0


class People:
    """Everybody who is sent to."""

    def __init__(self, api: str, log: Path, by_phone: Mapping[str, Visit]) -> None:
        """`log`: the simulator's, which says when a phone has a message."""
        self.unexpected: Counter[str] = Counter()  # answers to codes, by their code
        self._by_phone, self._lock = by_phone, threading.Lock()
        self._client, self._scheduler = Client(api, TIMEOUT), Scheduler(THREADS)
        self._follower = LogFollower(log, self._arrive)

    def play(self, phases: Sequence[Phase], settled: Callable[[], bool]) -> None:
        """One phase begins when the last send of the one before is answered."""
        self._follower.start()
        try:
            for phase in phases:
                phase.prepare()
                phase.began = time.time()
                for visit in phase.visits:
                    self._at(phase.began + visit.send.at, partial(self._send, visit))
                self._until(lambda: all(visit.answered < math.inf for visit in phase.visits))  # noqa: B023
            self._until(lambda: settled() and self._scheduler.is_done)
        finally:
            self._follower.close()
            self._scheduler.close()

    def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            if self._scheduler.errors:
                raise self._scheduler.errors[0]
            time.sleep(0.5)

    def _at(self, moment: float, work: Callable[[], None]) -> None:
        self._scheduler.at(time.monotonic() + moment - time.time(), work)

    def _send(self, visit: Visit) -> None:
        visit.started, body = time.time(), {"phone": visit.send.person.phone}
        reply = self._client.post("/otp/send", body, token=visit.token, key="")
        if reply.status != 200:
            visit.refusal = reply.code or str(reply.status)
        visit.answered = time.time()

    def _arrive(self, arrival: Arrival) -> None:
        visit = self._by_phone.get(arrival.phone)
        if visit is not None and arrival.code and arrival.at is not None:
            self._at(arrival.at, partial(self._read, visit, arrival.code, arrival.at))

    def _read(self, visit: Visit, code: str, arrived: float) -> None:
        with self._lock:
            is_late = arrived - visit.started > visit.send.gives_up
            if visit.is_typing or is_late:
                return
            visit.is_typing = True
        moment = time.time()
        for pause, typed in entries(visit.send, code):
            moment += pause
            self._at(moment, partial(self._enter, visit, typed, is_correct=typed == code))

    def _enter(self, visit: Visit, typed: str, *, is_correct: bool) -> None:
        body = {"phone": visit.send.person.phone, "code": typed}
        reply = self._client.post("/otp/verify", body, token=visit.token, key="")
        if reply.status == 200:
            visit.verified = time.time() - visit.started
        elif is_correct:
            self.unexpected[reply.code or str(reply.status)] += 1


def entries(send: Send, code: str) -> Iterator[tuple[float, str]]:
    """Seconds before each code that is typed, and the code: the wrong ones come first."""
    is_correct = not send.never_correct
    pause = send.typing / max(1, send.wrong_codes + is_correct)
    for n in range(send.wrong_codes):
        yield pause, f"{(int(code) + 1 + n) % 10 ** len(code):0{len(code)}}"
    if is_correct:
        yield pause, code
