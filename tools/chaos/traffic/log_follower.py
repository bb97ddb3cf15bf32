"""Follows the simulator's log: what arrives on phones, as it arrives."""

import json
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path

POLL_INTERVAL = 0.02  # seconds
_ARRIVED = "SELECT id, phone, code, links, extra FROM messages WHERE id > ? ORDER BY id"


@dataclass(frozen=True)
class Arrival:
    number: int
    phone: str
    code: str | None
    links: list[str]
    faults: list[str]


class LogFollower:
    """Calls `arrive` with each message once, in order, on a thread of its own."""

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
                for arrival in starmap(_arrival, log.execute(_ARRIVED, (newest,)).fetchall()):
                    newest = arrival.number
                    self._arrive(arrival)


def _arrival(number: int, phone: str, code: str | None, links: str, extra: str) -> Arrival:
    faults = json.loads(extra).get("faults", [])
    return Arrival(number, f"+{phone}", code, json.loads(links), faults)
