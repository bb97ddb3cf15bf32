"""Sends a WSGI response over granian's RSGI protocol; no thread waits for a slow reader."""

import os
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from threading import Condition, Lock
from typing import Any
from wsgiref.types import WSGIApplication, WSGIEnvironment

from catalogue.errors import Error

Headers = list[tuple[str, str]]
Response = tuple[int, Headers, bytes]
MAX_IN_MEMORY = 2**20  # bytes; a longer response goes to a temporary file
MAX_FILES = 3  # written concurrently: an export can take minutes and fill the disk
MAX_FILES_PER_COMPANY = 2  # so that one company's exports cannot block the others'
FILE_WAIT = 1.0  # seconds; a large static file is written faster
DESCRIPTORS = Path("/proc/self/fd")  # Linux only
OPENED_WITHIN = 15.0  # seconds; granian opens the file at once


class _StartResponse:
    """The `start_response` callable of PEP 3333."""

    status = 500
    headers: Headers = []

    def __call__(self, status: str, headers: Headers, exc_info: Any = None) -> Any:
        self.status = int(status[:3])
        self.headers = headers


class ResponseSender:
    """Sends responses. Long ones go to unnamed files, which vanish with the process."""

    def __init__(self, refuse: Callable[[WSGIEnvironment, Error], Any]) -> None:
        self._refuse = refuse
        self._slot_freed = Condition()
        self._writing: Counter[int | None] = Counter()  # by company, None for all without one
        self._lock = Lock()
        self._files: deque[tuple[float, Any]] = deque()

    def send(self, application: WSGIApplication, environ: WSGIEnvironment, protocol: Any) -> None:
        started = _StartResponse()
        chunks = application(environ, started)
        try:
            if isinstance(chunks, list | tuple) or getattr(chunks, "streaming", True) is False:
                body = b"".join(chunks)
            else:
                body, rest = _read_beginning(iter(chunks))
                if rest is not None:
                    with self._write_slot(getattr(chunks, "company_id", None)) as has_slot:
                        if has_slot:
                            self._send_long(started, chain([body], rest), protocol)
                        else:
                            protocol.response_bytes(*self._refuse(environ, Error.UNAVAILABLE))
                    return
        finally:
            if hasattr(chunks, "close"):
                chunks.close()
        protocol.response_bytes(started.status, started.headers, body)

    def close_files(self) -> None:
        """Closes files that granian has opened by now."""
        with self._lock:
            before = time.monotonic() - OPENED_WITHIN
            while self._files and self._files[0][0] < before:
                self._files.popleft()[1].close()

    @contextmanager
    def _write_slot(self, company_id: int | None) -> Iterator[bool]:
        """Whether a slot was free in time."""
        with self._slot_freed:
            has_slot = self._slot_freed.wait_for(
                lambda: (
                    self._writing.total() < MAX_FILES
                    and self._writing[company_id] < MAX_FILES_PER_COMPANY
                ),
                FILE_WAIT,
            )
            self._writing[company_id] += has_slot
        try:
            yield has_slot
        finally:
            with self._slot_freed:
                self._writing -= Counter({company_id: int(has_slot)})
                self._slot_freed.notify_all()

    def _send_long(self, started: _StartResponse, chunks: Iterable[bytes], protocol: Any) -> None:
        if DESCRIPTORS.exists():
            self._send_file(started, chunks, protocol)
        else:
            protocol.response_bytes(started.status, started.headers, b"".join(chunks))

    def _send_file(self, started: _StartResponse, chunks: Iterable[bytes], protocol: Any) -> None:
        file = tempfile.TemporaryFile()  # noqa: SIM115 - closed after granian opened it
        try:
            file.writelines(chunks)
            file.flush()
        except BaseException:  # it is not in `_files` yet
            file.close()
            raise
        headers = [header for header in started.headers if header[0].lower() != "content-length"]
        headers.append(("Content-Length", str(os.fstat(file.fileno()).st_size)))
        with self._lock:
            self._files.append((time.monotonic(), file))
        protocol.response_file(started.status, headers, f"{DESCRIPTORS}/{file.fileno()}")


def _read_beginning(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes] | None]:
    """The whole response, or its first MAX_IN_MEMORY bytes and the remaining chunks."""
    parts = []
    size = 0
    for chunk in chunks:
        parts.append(chunk)
        size += len(chunk)
        if size > MAX_IN_MEMORY:
            return b"".join(parts), chunks
    return b"".join(parts), None
