"""Calls the origin: for rows that the replica lacks, and for pages that need the database.

Calls are few at once, short, and stop for a second after one that failed, so that neither a slow
origin nor a scan of slugs holds the threads that known links are served on.
"""

import threading
import time
from contextlib import suppress
from typing import Any

import structlog
import urllib3
from urllib3.exceptions import HTTPError

from accounts.client_ip import client_ip
from config.storage.redis_client import BackOff
from links.edge import metrics
from links.edge.misses import TokenBucket
from links.follow import edge_calls
from links.follow.cached_row import CachedRow, LinkTarget, unpack
from links.follow.edge_calls import ForwardedVisit, SlugQuestion
from links.follow.pages import form_nonces
from links.follow.pages.visitor_pages import Visit, VisitorResponse
from links.follow.responder import DatabasePages, UnresolvedError

MAX_CALLS = 24  # at once, of 64 threads
CONNECT_TIMEOUT, READ_TIMEOUT = 0.5, 1.4  # seconds: below what a visitor's single flight waits
VISIT_TIMEOUT = 5.0
REPORT_INTERVAL = 60.0

log = structlog.get_logger(__name__)


class Origin:
    def __init__(self, url: str, token: str, miss_rate: float) -> None:
        self._url = url.rstrip("/")
        self._questions, self._visits = TokenBucket(miss_rate), TokenBucket(4 * miss_rate)
        self._pool = urllib3.PoolManager(
            maxsize=MAX_CALLS,
            retries=False,
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        )
        self._calls = threading.BoundedSemaphore(MAX_CALLS)
        self._back_off = BackOff()
        self._reported_at = float("-inf")
        self.state = ""  # empty: it answers; else what is wrong

    def find(self, slug: str, host_id: int | None) -> CachedRow | None:
        """Raises UnresolvedError when it does not answer, or may not be asked now."""
        if not self._questions.take():
            raise UnresolvedError("too many unknown links are asked for")
        body = self._call(edge_calls.RESOLVE, SlugQuestion(slug, host_id).pack(), READ_TIMEOUT)
        row = unpack(body)
        if row is not None:
            self._questions.give_back()  # it is limited how often there is no link
        return row

    def answer(self, _found: LinkTarget, visit: Visit) -> VisitorResponse:
        """What it answers to this visit, which it counts itself. Sent once: it may open a link."""
        if not self._visits.take():
            raise UnresolvedError("too many visits need the origin")
        environ = visit.environ
        given = {name: environ[name] for name in edge_calls.environ_names() if environ.get(name)}
        forwarded = ForwardedVisit(
            text=environ["PATH_INFO"][1:],
            host_id=visit.host_id,
            environ=given | {"REMOTE_ADDR": client_ip(environ)},
            form=_posted(environ) if visit.method == "POST" else "",
        )
        answered = self._call(edge_calls.VISIT, forwarded.pack(), VISIT_TIMEOUT)
        return edge_calls.read_response(answered)

    def pages(self) -> DatabasePages:
        return DatabasePages(self.answer, self.answer, self.answer)

    def ping(self) -> None:
        """For a thread that asks now and then whether it answers; never raises."""
        with suppress(UnresolvedError):
            self._send(edge_calls.PING, b"{}", READ_TIMEOUT)

    def _call(self, path: str, body: bytes, timeout: float) -> bytes:
        if self._back_off.is_active:
            raise UnresolvedError(self.state)
        if not self._calls.acquire(blocking=False):
            raise UnresolvedError("too many calls at once")
        try:
            return self._send(path, body, timeout)
        finally:
            self._calls.release()

    def _send(self, path: str, body: bytes, timeout: float) -> bytes:
        limits = urllib3.Timeout(connect=CONNECT_TIMEOUT, read=timeout)
        began_at = time.monotonic()
        try:
            answer: Any = self._pool.request(
                "POST", f"{self._url}/{path}", body=body, timeout=limits, redirect=False
            )
        except HTTPError as error:
            metrics.count_call(path, "failed", time.monotonic() - began_at)
            raise self._failed(type(error).__name__) from None
        metrics.count_call(path, str(answer.status), time.monotonic() - began_at)
        if answer.status not in (200, 400):
            raise self._failed(f"HTTP {answer.status}")
        self.state = ""
        if answer.status == 400:
            raise UnresolvedError("the origin does not understand")
        return bytes(answer.data)

    def _failed(self, state: str) -> UnresolvedError:
        self.state = state
        self._back_off.start()
        if time.monotonic() >= self._reported_at + REPORT_INTERVAL:
            self._reported_at = time.monotonic()
            log.warning("origin_does_not_answer", state=state)
        return UnresolvedError(state)


def _posted(environ: Any) -> str:
    """The body of a form, as long as the origin would read it."""
    length = environ.get("CONTENT_LENGTH") or ""
    if not (length.isdecimal() and int(length) <= form_nonces.MAX_FORM_BYTES):
        return ""
    body: bytes = environ["wsgi.input"].read(int(length))
    return body.decode("latin-1")
