"""Heartbeats of background processes, written every few seconds."""

import os
import socket
import time
from collections.abc import Callable, Mapping

import orjson

from processes.background import PeriodicThread
from storage import key_rings
from storage.statements import sql_files
from storage.statements.queries import execute

INTERVAL = 5.0  # seconds
Details = Mapping[str, int]

_UPSERT = sql_files.read("channels/deliver/heartbeats.sql")


class HeartbeatWriter:
    """Writes the heartbeat of one process; `record` may be called at any rate."""

    def __init__(self, kind: str, *, shared: bool = False) -> None:
        self.kind = kind
        self._shared = shared  # one row for all processes of the kind
        self._recorded_at = -INTERVAL

    def record(self, details: Details | None = None) -> None:
        if time.monotonic() - self._recorded_at < INTERVAL:
            return
        self._recorded_at = time.monotonic()
        self.write(details or {})

    def write(self, details: Details) -> None:
        identities = {} if self._shared else {"keys": key_rings.identities()}
        written = orjson.dumps({**details, **identities}).decode()
        execute(_UPSERT, [self._process(), self.kind, written])

    def _process(self) -> str:
        name = self.kind if self._shared else f"{self.kind} {socket.gethostname()} {os.getpid()}"
        return name[:120]


def start_heartbeat(kind: str, details: Callable[[], Details]) -> None:
    """Writes heartbeats from a thread for the life of the process."""
    writer = HeartbeatWriter(kind)
    PeriodicThread(f"{kind}-heartbeat", lambda: writer.write(details()), INTERVAL).start()
