"""Sends a WSGI response over granian's RSGI protocol; no thread waits for a slow reader."""

import os
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import Any
from wsgiref.types import WSGIApplication, WSGIEnvironment

from catalogue.errors import Error

Headers = list[tuple[str, str]]
Response = tuple[int, Headers, bytes]
MAX_IN_MEMORY = 2**20  # bytes; a longer response goes to a temporary file
MAX_FILES = 2  # written at once: an export can take minutes and fill the disk
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
        self._places = BoundedSemaphore(MAX_FILES)
        self._lock = Lock()
        self._files: deque[tuple[float, Any]] = deque()

    def send(self, application: WSGIApplication, environ: WSGIEnvironment, protocol: Any) -> None:
        started = _StartResponse()
        chunks = application(environ, started)
        try:
            if isinstance(chunks, list | tuple) or getattr(chunks, "streaming", True) is False:
                whole = b"".join(chunks)
            else:
                whole, rest = _read_beginning(iter(chunks))
                if rest is not None:
                    self._send_long(started, chain([whole], rest), environ, protocol)
                    return
        finally:
            if hasattr(chunks, "close"):
                chunks.close()
        protocol.response_bytes(started.status, started.headers, whole)

    def close_files(self) -> None:
        """Close the files that granian has opened by now."""
        with self._lock:
            before = time.monotonic() - OPENED_WITHIN
            while self._files and self._files[0][0] < before:
                self._files.popleft()[1].close()

    def _send_long(
        self,
        started: _StartResponse,
        chunks: Iterable[bytes],
        environ: WSGIEnvironment,
        protocol: Any,
    ) -> None:
        if not self._places.acquire(timeout=FILE_WAIT):
            protocol.response_bytes(*self._refuse(environ, Error.UNAVAILABLE))
            return
        try:
            if DESCRIPTORS.exists():
                self._send_file(started, chunks, protocol)
            else:
                protocol.response_bytes(started.status, started.headers, b"".join(chunks))
        finally:
            self._places.release()

    def _send_file(self, started: _StartResponse, chunks: Iterable[bytes], protocol: Any) -> None:
        file = tempfile.TemporaryFile()  # noqa: SIM115 - closed after granian opened it
        try:
            file.writelines(chunks)
            file.flush()
        except BaseException:  # close_files does not know it yet
            file.close()
            raise
        headers = [header for header in started.headers if header[0].lower() != "content-length"]
        headers.append(("Content-Length", str(os.fstat(file.fileno()).st_size)))
        with self._lock:
            self._files.append((time.monotonic(), file))
        protocol.response_file(started.status, headers, f"{DESCRIPTORS}/{file.fileno()}")


def _read_beginning(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes] | None]:
    """The whole response, or its first MAX_IN_MEMORY bytes and the remaining chunks."""
    parts, size = [], 0
    for chunk in chunks:
        parts.append(chunk)
        size += len(chunk)
        if size > MAX_IN_MEMORY:
            return b"".join(parts), chunks
    return b"".join(parts), None
