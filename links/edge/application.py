"""The WSGI application of an edge: every path of a short host is a link, but for the probes'."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from wsgiref.types import StartResponse, WSGIEnvironment

import orjson
from django.conf import settings

from accounts.client_ip import client_ip, client_network
from config.background import PeriodicThread
from config.server.gateway import Allowance
from config.server.https import is_refused
from config.server.rsgi_response import Response
from links.clicks import buffer
from links.edge import metrics
from links.edge.feed import ReplicaFeed
from links.edge.misses import VisitorMisses
from links.edge.origin import Origin
from links.edge.replica import Replica
from links.edge.store import EdgeStore, visitor
from links.follow.pages import form_nonces
from links.follow.pages.visitor_pages import (
    Visit,
    VisitorResponse,
    normalize_host,
    unavailable,
)
from links.follow.resolver import SlugResolver
from links.follow.responder import Responder, redirect_early

LOOK_INTERVAL = 5.0  # seconds
OK = "ok"
_TEXT = ("Content-Type", "text/plain; charset=utf-8")
_NO_STORE = ("Cache-Control", "no-store")


class EdgeOptions(NamedTuple):
    origin_url: str
    token: str
    replica_url: str
    max_staleness: float  # seconds
    miss_rate: float  # unknown links a second


class EdgeApplication:
    def __init__(self, options: EdgeOptions) -> None:
        self._own = urlsplit(settings.SHORT_URL).netloc
        self._host = normalize_host(self._own)
        self._probes = {"/livez": self._livez, "/readyz": self._readyz}
        self.replica = Replica(
            options.replica_url,
            timeout=settings.REDIS_TIMEOUT,
            max_staleness=options.max_staleness,
        )
        misses = VisitorMisses(*settings.LINK_MISS_LIMIT)
        self.origin = Origin(options.origin_url, options.token, options.miss_rate)
        self._resolver = SlugResolver(
            self.replica.stops,
            EdgeStore(self.replica, self.origin, misses),
            partial(ReplicaFeed, replica=self.replica),
        )
        responder = Responder(self._resolver.resolve, misses.count_miss, self.origin.pages())
        self._respond = responder.respond

    def start(self) -> None:
        """Knows the stops and hosts before the first visitor comes, if the replica answers."""
        self.replica.refresh()
        self._resolver.listen()
        PeriodicThread("origin", self._look, LOOK_INTERVAL).start()

    def _look(self) -> None:
        """Now and then, for probes and metrics."""
        self.origin.ping()
        metrics.set_state(self.replica.staleness, buffer.delayed_clicks())

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        status, headers, body = self._answer(environ)
        metrics.count_answer(status)
        start_response(status, headers)
        return (body,)

    def respond_early(self, environ: Mapping[str, Any]) -> Response | None:
        """Redirects if it can at once, in front of the WSGI application."""
        path: str = environ.get("PATH_INFO", "")
        if path in self._probes or environ.get("HTTP_HOST", "") != self._own:
            return None
        response = redirect_early(self._resolver.known, path[1:], environ)
        if response is not None:
            metrics.count_answer("302")
        return response

    def _answer(self, environ: WSGIEnvironment) -> VisitorResponse:
        path: str = environ.get("PATH_INFO", "")
        if probe := self._probes.get(path):
            return probe()
        host: str = environ.get("HTTP_HOST", "")
        host_id = None
        if host != self._own and normalize_host(host) != self._host:
            if (hosts := self.replica.hosts) is None:
                return unavailable(Visit(environ, None))
            found = hosts.get(host.partition(":")[0].lower().removesuffix("."))
            if found is None:
                return _refused_host()
            host_id = found.id
        visitor.set(environ)
        return self._respond(path[1:], environ, host_id)

    def _livez(self) -> VisitorResponse:
        return _json("200 OK", {"status": "ok"})

    def _readyz(self) -> VisitorResponse:
        """Ready while one of the two that know links can be used."""
        replica, origin = self._replica_state(), self.origin.state or OK
        waiting = buffer.delayed_clicks()
        checks = {
            "replica": replica,
            "origin": origin,
            "clicks": f"{waiting} wait for the master of Redis" if waiting else OK,
        }
        if self.origin.state and not self.replica.is_fresh:
            return _json("503 Service Unavailable", {"status": "not ready", "checks": checks})
        is_whole = set(checks.values()) == {OK}
        return _json("200 OK", {"status": "ready" if is_whole else "degraded", "checks": checks})

    def _replica_state(self) -> str:
        if self.replica.is_current:
            return OK
        age = self.replica.staleness
        return "empty" if age == float("inf") else f"{age:.0f} s old"


def admit(environ: Mapping[str, Any]) -> Allowance | None:
    """Bodies of visitors' forms; nothing else is posted to a link."""
    if is_refused(environ):
        return None
    ip = client_ip(environ)
    return Allowance(client_network(ip) or ip, form_nonces.MAX_FORM_BYTES)


def _refused_host() -> VisitorResponse:
    body = b"No short links are served under this host.\n"
    length = ("Content-Length", str(len(body)))
    return VisitorResponse("400 Bad Request", [_TEXT, length, _NO_STORE], body)


def _json(status: str, content: Mapping[str, Any]) -> VisitorResponse:
    body = orjson.dumps(content)
    length = ("Content-Length", str(len(body)))
    return VisitorResponse(status, [("Content-Type", "application/json"), length, _NO_STORE], body)
