"""The journal of the company's backend: each request before it is sent, each response.

A durable file, as TigerBeetle and Stripe ask of their clients: the key of a request is on disk
before the request is sent, so a repeat after any crash is the same request.
"""

import sqlite3
import threading
import time
from pathlib import Path

SCHEMA = """
CREATE TABLE orders (
    key TEXT PRIMARY KEY, company_id INTEGER NOT NULL, path TEXT NOT NULL, phone TEXT NOT NULL,
    at REAL NOT NULL
);
CREATE TABLE calls (        -- every try of every order; status 0: no answer came
    key TEXT NOT NULL, status INTEGER NOT NULL, code TEXT NOT NULL, message TEXT NOT NULL,
    body TEXT NOT NULL, replayed INTEGER NOT NULL, seconds REAL NOT NULL, at REAL NOT NULL
);
CREATE TABLE entries (      -- every try at entering a code
    person TEXT NOT NULL,   -- the order whose reader it is
    key TEXT NOT NULL,      -- its Idempotency-Key, if any
    try TEXT NOT NULL,      -- which entry this call belongs to: repeats of one call share it
    company_id INTEGER NOT NULL, phone TEXT NOT NULL, is_right INTEGER NOT NULL,
    status INTEGER NOT NULL, code TEXT NOT NULL, verification TEXT NOT NULL,
    seconds REAL NOT NULL, at REAL NOT NULL
);
"""
PRAGMAS = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"


class Journal:
    """Thread-safe."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.executescript(PRAGMAS + SCHEMA)

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def order(self, *, key: str, company_id: int, path: str, phone: str) -> None:
        """Durable when this returns."""
        self._keep("INSERT INTO orders VALUES (?,?,?,?,?)", key, company_id, path, phone)

    def call(
        self,
        *,
        key: str,
        status: int,
        code: str,
        message: str,
        body: str,
        replayed: bool,
        seconds: float,
    ) -> None:
        row = (key, status, code, message, body, replayed, seconds)
        self._keep("INSERT INTO calls VALUES (?,?,?,?,?,?,?,?)", *row)

    def entry(
        self,
        *,
        person: str,
        key: str,
        attempt: str,
        company_id: int,
        phone: str,
        is_right: bool,
        status: int,
        code: str,
        verification: str,
        seconds: float,
    ) -> None:
        row = (person, key, attempt, company_id, phone, is_right, status, code, verification)
        self._keep("INSERT INTO entries VALUES (?,?,?,?,?,?,?,?,?,?,?)", *row, seconds)

    def _keep(self, statement: str, *row: object) -> None:
        with self._lock:
            self._db.execute(statement, (*row, time.time()))
