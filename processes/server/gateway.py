"""Runs a WSGI application on granian's threads; a request body being received holds no thread.

granian's own WSGI bridge receives a body on the thread that runs the application, without a
deadline, so 64 slow bodies block a process; and it merges `X_Forwarded_For` into `X-Forwarded-For`.
This gateway uses granian's RSGI interface: body frames arrive as futures, headers keep their names.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from io import BytesIO
from typing import Any, NamedTuple
from wsgiref.types import WSGIApplication, WSGIEnvironment

import structlog

from catalogue.errors import Error
from processes.server.request_bodies import BodyLimits, BufferedBodies, BufferedBody
from processes.server.rsgi_response import Headers, Response, ResponseSender
from processes.server.wsgi_environ import MalformedRequestError, build_environ

log = structlog.get_logger(__name__)
SWEEP = 0.25  # seconds between checks for bodies past their deadline


class Allowance(NamedTuple):
    """Permission to receive a body: the sender against whom it counts, and its limit in bytes."""

    sender: str
    max_bytes: int


class Refusal(NamedTuple):
    status: int
    headers: Headers
    body: bytes


Admit = Callable[[WSGIEnvironment], Allowance | None]
Refuse = Callable[[WSGIEnvironment, Error], Refusal]
RespondEarly = Callable[[Mapping[str, Any]], Response | None]


class Gateway:
    """Runs a WSGI application for granian's requests.

    `admit` decides by the headers whether to receive the body. Without an allowance the application
    runs at once, and reading the body raises OSError. `respond_early` may respond to a GET before
    the application; if it returns None, the application does.
    """

    def __init__(
        self,
        application: WSGIApplication,
        *,
        admit: Admit,
        refuse: Refuse,
        bounds: BodyLimits,
        respond_early: RespondEarly | None = None,
    ) -> None:
        self._application = application
        self._respond_early = respond_early
        self._admit = admit
        self._refuse = refuse
        self.bounds = bounds
        self._bodies = BufferedBodies(bounds)
        self._sender = ResponseSender(refuse)
        self._is_stopping = False
        self._refused: Counter[str] = Counter()  # senders, since the last sweep

    def start(self) -> None:
        threading.Thread(target=self._sweep, name="bodies", daemon=True).start()

    def stop(self) -> None:
        """Stops waiting for slow bodies; called by a signal handler."""
        self._is_stopping = True

    def schedule(self, watcher: Any) -> None:
        """Handles a request of granian, on a separate thread; must not raise."""
        scope = watcher.scope
        protocol = watcher.proto
        try:
            environ = build_environ(scope)
            response = self._early_response(environ)
            if response is None:
                self._serve(environ, protocol)
            else:
                protocol.response_bytes(*response)
        except MalformedRequestError:
            protocol.response_empty(400, [("Connection", "close")])
        except Exception:  # granian would not handle it
            log.exception("request_failed")
            protocol.response_empty(500, [])

    def _early_response(self, environ: WSGIEnvironment) -> Response | None:
        if self._respond_early is None or environ["REQUEST_METHOD"] != "GET":
            return None
        return self._respond_early(environ) if _body_length(environ) == 0 else None

    def _serve(self, environ: WSGIEnvironment, protocol: Any) -> None:
        length = _body_length(environ)
        if length == 0:
            self._run(environ, protocol, BytesIO())
            return
        allowance = self._admit(environ)
        if allowance is None or (length or 0) > allowance.max_bytes:
            self._run(environ, protocol, UnreceivedBody())
            return
        sender, max_bytes = allowance
        body = BufferedBody(environ, protocol, sender, max_bytes, length)
        added = self._bodies.add(body)
        if added.evicted is not None:
            self._refuse_body(added.evicted, Error.REQUEST_TIMEOUT)
        if added.is_added:
            protocol.__aiter__()
            self._receive(body)
        else:
            self._refuse_body(body, Error.UNAVAILABLE)

    def _receive(self, body: BufferedBody) -> None:
        """Requests the next frame; the thread that receives it continues in `_handle_frame`."""
        try:
            future = body.protocol.__anext__()
        except StopAsyncIteration:  # the end of a chunked body
            self._finish(body)
            return
        body.future = future
        future.add_done_callback(partial(self._handle_frame, body))
        if body.is_removed:  # another thread removed it in the meantime
            _cancel(body)

    def _handle_frame(self, body: BufferedBody, future: Any) -> None:
        if body.is_removed:
            return
        body.future = None  # breaks a reference cycle that gc cannot collect
        try:
            self._add_frame(body, future.result())
        except Exception:  # granian would not handle it
            log.exception("request_failed")
            self._bodies.take(body)
            body.protocol.response_empty(500, [])

    def _add_frame(self, body: BufferedBody, frame: bytes) -> None:
        if not frame and (body.length is not None or body.is_ending):
            self._abandon(body)
            return
        body.is_ending = not frame
        slow = self._bodies.grow(body, frame)
        if slow is not None:
            self._refuse_body(slow, Error.REQUEST_TIMEOUT)
        if body.is_removed:
            return
        needed = body.max_bytes + 1 if body.length is None else body.length
        if body.size >= needed:
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
        """Ends a request whose client disconnected before the end of its body."""
        if self._bodies.take(body):
            body.protocol.response_empty(400, [])

    def _run(self, environ: WSGIEnvironment, protocol: Any, body: Any) -> None:
        environ["wsgi.input"] = body
        self._sender.send(self._application, environ, protocol)

    def _refuse_body(self, body: BufferedBody, error: Error) -> None:
        """Responds before the body's end; granian then closes the connection and drops the rest."""
        _cancel(body)
        self._refused[body.sender] += 1
        try:
            body.protocol.response_bytes(*self._refuse(body.environ, error))
        except Exception:  # another request's error: this thread has work to do
            log.exception("request_failed")
            body.protocol.response_empty(500, [])

    def _sweep(self) -> None:
        while True:
            time.sleep(SWEEP)
            try:
                self._refuse_late()
                self._sender.close_files()
                self._report()
            except Exception:  # the sweep thread must survive
                log.exception("sweep_failed")

    def _refuse_late(self) -> None:
        """Refuses bodies past their deadline."""
        # A separate method: the variables of the sweep's loop would keep the last body in memory.
        error = Error.UNAVAILABLE if self._is_stopping else Error.REQUEST_TIMEOUT
        for body in self._bodies.take_late(is_stopping=self._is_stopping):
            self._refuse_body(body, error)

    def _report(self) -> None:
        """Logs one line per sweep, so a flood of requests does not flood the log."""
        refused, self._refused = self._refused, Counter()
        if refused:
            senders = [sender for sender, _ in refused.most_common(5)]
            log.warning("request_bodies_refused", count=refused.total(), senders=senders)


class UnreceivedBody:
    """The body of a request that was not admitted."""

    def read(self, size: int = -1) -> bytes:
        raise OSError("this body is not received")

    readline = read


def _body_length(environ: Mapping[str, Any]) -> int | None:
    """The body's length in bytes; None for a chunked body."""
    if "HTTP_TRANSFER_ENCODING" in environ:
        return None
    return int(environ.get("CONTENT_LENGTH") or 0)


def _cancel(body: BufferedBody) -> None:
    future, body.future = body.future, None
    if future is not None:
        future.cancel()
