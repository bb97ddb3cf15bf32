"""Clients over HTTP: what they do at given times, their calls, and what comes to their phones."""

import json
import sched
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

CONFLICT = 409
UNAVAILABLE = 503
TICK = 0.005  # seconds


class Scheduler:
    """Runs work at a given time on a pool of threads."""

    def __init__(self, threads: int) -> None:
        self.errors: list[BaseException] = []
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="client")
        self._agenda = sched.scheduler(time.monotonic)
        self._open = 0  # entries that are not done
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="agenda", daemon=True)
        self._thread.start()

    @property
    def is_done(self) -> bool:
        return self._open == 0

    def at(self, moment: float, work: Callable[[], Any]) -> None:
        """Schedule for this monotonic time, or as soon as a thread is free."""
        with self._lock:
            self._open += 1
        self._agenda.enterabs(moment, 0, self._pool.submit, (self._do, work))

    def now(self, work: Callable[[], Any]) -> None:
        self.at(time.monotonic(), work)

    def close(self) -> None:
        """Drops work that is not due and waits for running work."""
        self._closing.set()
        self._thread.join()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _run(self) -> None:
        while not self._closing.wait(TICK):
            self._agenda.run(blocking=False)

    def _do(self, work: Callable[[], Any]) -> None:
        try:
            work()
        except Exception as error:  # the edge of the thread: reported at the end of the run
            self.errors.append(error)
        finally:
            with self._lock:
                self._open -= 1


@dataclass(frozen=True)
class Reply:
    """An answer to a call; status 0 when none came, or none that can be read."""

    status: int
    code: str
    body: dict[str, Any]
    text: str
    replayed: bool
    seconds: float

    @property
    def is_definite(self) -> bool:
        return self.status not in {0, CONFLICT, UNAVAILABLE} and self.code != "rate_limited"

    @property
    def is_final(self) -> bool:
        return self.is_definite and self.status != requests.codes.internal_server_error


class Client:
    """The wire: one session per thread, and no retries that the journal would not know of."""

    def __init__(self, api: str, timeout: tuple[float, float]) -> None:
        self._api = api
        self._timeout = timeout
        self._local = threading.local()

    def post(self, path: str, body: dict[str, Any], *, token: str, key: str) -> Reply:
        if not hasattr(self._local, "session"):
            self._local.session = requests.Session()
        session: requests.Session = self._local.session
        headers = {"Authorization": f"Bearer {token}"} | ({"Idempotency-Key": key} if key else {})
        url, begun = f"{self._api}/api/v1{path}", time.monotonic()
        try:
            response = session.post(url, json=body, headers=headers, timeout=self._timeout)
            parsed = response.json()
        except (requests.RequestException, ValueError) as error:
            lasted = time.monotonic() - begun
            return Reply(0, type(error).__name__, {}, "", replayed=False, seconds=lasted)
        replayed = response.headers.get("Idempotent-Replayed") == "true"
        code, lasted = parsed.get("code", ""), time.monotonic() - begun
        return Reply(response.status_code, code, parsed, response.text, replayed, lasted)


POLL_INTERVAL = 0.02  # seconds
_ARRIVED = "SELECT id, phone, code, links, extra FROM messages WHERE id > ? ORDER BY id"


@dataclass(frozen=True)
class Arrival:
    number: int
    phone: str
    code: str | None
    links: list[str]
    faults: list[str]
    at: float | None  # Unix seconds, of a scripted outcome


class LogFollower:
    """Calls `arrive` with each message once, in order, on a separate thread."""

    def __init__(self, log: Path, arrive: Callable[[Arrival], None]) -> None:
        self._log = log
        self._arrive = arrive
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="log follower", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _watch(self) -> None:
        newest = 0
        with closing(sqlite3.connect(f"file:{self._log}?mode=ro", uri=True)) as log:
            while not self._stopping.wait(POLL_INTERVAL):
                for row in log.execute(_ARRIVED, [newest]).fetchall():
                    newest, phone, code, links, extra = row
                    extras = json.loads(extra)
                    rest = (extras.get("faults", []), extras.get("arrives"))
                    self._arrive(Arrival(newest, f"+{phone}", code, json.loads(links), *rest))
