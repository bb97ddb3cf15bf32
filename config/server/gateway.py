"""From granian's threads to a WSGI application; a body on its way holds none of them.

granian's own WSGI bridge receives a body on the thread that runs the application, without a
deadline, so that 64 slow ones stop a process; and it merges `X_Forwarded_For` into
`X-Forwarded-For`. This one uses what granian has for RSGI applications: a body's frames as
futures, and the headers by their names.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from io import BytesIO
from typing import Any, NamedTuple
from wsgiref.types import WSGIApplication, WSGIEnvironment

import structlog

from config.errors import Error
from config.server.request_bodies import BodyLimits, BufferedBodies, BufferedBody
from config.server.rsgi_response import Headers, ResponseSender
from config.server.wsgi_environ import MalformedRequestError, build_environ

log = structlog.get_logger(__name__)
SWEEP = 0.25  # seconds between looks for bodies past their deadline


class Allowance(NamedTuple):
    """A body that may be received: counted as this sender's, not longer than so many bytes."""

    sender: str
    longest: int


class Refusal(NamedTuple):
    status: int
    headers: Headers
    body: bytes


Admit = Callable[[WSGIEnvironment], Allowance | None]
Refuse = Callable[[WSGIEnvironment, Error], Refusal]


class Gateway:
    """`admit` judges by the headers whose body is received. Without its allowance the application
    runs at once, and to read the body raises OSError.
    """

    def __init__(
        self, application: WSGIApplication, *, admit: Admit, refuse: Refuse, bounds: BodyLimits
    ) -> None:
        self._application = application
        self._admit = admit
        self._refuse = refuse
        self.bounds = bounds
        self._bodies = BufferedBodies(bounds)
        self._answers = ResponseSender(refuse)
        self._is_stopping = False
        self._cut: Counter[str] = Counter()  # senders, since the last sweep

    def start(self) -> None:
        threading.Thread(target=self._sweep, name="bodies", daemon=True).start()

    def stop(self) -> None:
        """Wait for slow bodies no longer; called by a signal's handler."""
        self._is_stopping = True

    def schedule(self, watcher: Any) -> None:
        """granian's call for each request, on a thread of its own; it must not raise."""
        protocol = watcher.proto
        try:
            self._serve(build_environ(watcher.scope), protocol)
        except MalformedRequestError:
            protocol.response_empty(400, [("Connection", "close")])
        except Exception:  # the edge of the process
            log.exception("request_failed")
            protocol.response_empty(500, [])

    def _serve(self, environ: WSGIEnvironment, protocol: Any) -> None:
        is_chunked = "HTTP_TRANSFER_ENCODING" in environ
        length = 0 if is_chunked else int(environ.get("CONTENT_LENGTH") or 0)
        if not (is_chunked or length):
            self._run(environ, protocol, BytesIO())
            return
        allowance = self._admit(environ)
        if allowance is None or length > allowance.longest:
            self._run(environ, protocol, UnreceivedBody())
            return
        sender, longest = allowance
        body = BufferedBody(environ, protocol, sender, longest, None if is_chunked else length)
        has_room, slow = self._bodies.add(body)
        if slow is not None:
            self._refuse_body(slow, Error.REQUEST_TIMEOUT)
        if has_room:
            protocol.__aiter__()
            self._receive(body)
        else:
            self._refuse_body(body, Error.UNAVAILABLE)

    def _receive(self, body: BufferedBody) -> None:
        """Ask for the next frame; whichever thread has it goes on with `_take`."""
        try:
            future = body.protocol.__anext__()
        except StopAsyncIteration:  # the end of a body in chunks
            self._finish(body)
            return
        body.future = future
        future.add_done_callback(partial(self._take, body))
        if body.is_over:  # it was taken out meanwhile
            _cancel(body)

    def _take(self, body: BufferedBody, future: Any) -> None:
        if body.is_over:
            return
        body.future = None  # which knows of us: a circle that nothing collects
        try:
            self._go_on(body, future.result())
        except Exception:  # the edge of the process
            log.exception("request_failed")
            self._bodies.take(body)
            body.protocol.response_empty(500, [])

    def _go_on(self, body: BufferedBody, frame: bytes) -> None:
        if not frame and (body.length is not None or body.is_ending):
            self._abandon(body)
            return
        body.is_ending = not frame
        slow = self._bodies.grow(body, frame)
        if slow is not None:
            self._refuse_body(slow, Error.REQUEST_TIMEOUT)
        if body.is_over:
            return
        wanted = body.longest + 1 if body.length is None else body.length
        if body.size >= wanted:
            self._finish(body)
        else:
            self._receive(body)

    def _finish(self, body: BufferedBody) -> None:
        if not self._bodies.take(body):
            return
        content = b"".join(body.parts)
        body.environ["CONTENT_LENGTH"] = str(len(content))
        body.environ.pop("HTTP_TRANSFER_ENCODING", None)
        self._run(body.environ, body.protocol, BytesIO(content))

    def _abandon(self, body: BufferedBody) -> None:
        """The client has gone in the middle of it."""
        if self._bodies.take(body):
            body.protocol.response_empty(400, [])

    def _run(self, environ: WSGIEnvironment, protocol: Any, body: Any) -> None:
        environ["wsgi.input"] = body
        self._answers.send(self._application, environ, protocol)

    def _refuse_body(self, body: BufferedBody, error: Error) -> None:
        """Answer without it; granian then closes the connection rather than receive the rest."""
        _cancel(body)
        self._cut[body.sender] += 1
        try:
            body.protocol.response_bytes(*self._refuse(body.environ, error))
        except Exception:  # of another's request, and others may wait
            log.exception("request_failed")
            body.protocol.response_empty(500, [])

    def _sweep(self) -> None:
        while True:
            time.sleep(SWEEP)
            try:
                self._cut_late()
                self._answers.close_files()
                self._report()
            except Exception:  # the thread's edge
                log.exception("sweep_failed")

    def _cut_late(self) -> None:
        """Apart from the loop, whose variables would keep the last one, and with it the body."""
        error = Error.UNAVAILABLE if self._is_stopping else Error.REQUEST_TIMEOUT
        for body in self._bodies.take_late(is_stopping=self._is_stopping):
            self._refuse_body(body, error)

    def _report(self) -> None:
        """One line for all: who floods us must not flood the log."""
        cut, self._cut = self._cut, Counter()
        if cut:
            senders = [sender for sender, _ in cut.most_common(5)]
            log.warning("bodies_refused", count=cut.total(), senders=senders)


class UnreceivedBody:
    """A body that nobody may have."""

    def read(self, size: int = -1) -> bytes:
        raise OSError("this body is not received")

    readline = read


def _cancel(body: BufferedBody) -> None:
    future, body.future = body.future, None
    if future is not None:
        future.cancel()
