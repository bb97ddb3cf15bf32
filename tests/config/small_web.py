"""A `config.web_server` process around a tiny application, with short timeouts."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

import orjson
from granian.constants import Interfaces
from granian.http import HTTP1Settings

from catalogue.errors import Error
from config.web_server import MAX_HEADERS, Server
from processes.server.gateway import Allowance, Gateway, Refusal
from processes.server.request_bodies import BodyLimits
from processes.server.rsgi_response import Response

DEADLINE = 3.0  # long enough for twenty requests on a busy machine
BOUNDS = BodyLimits(
    deadline=DEADLINE, max_bodies=40, max_per_sender=20, memory=2**22, slow=0.3, unread=2
)
LONG_BODY_SIZE = 8 * 2**20  # bytes


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    if environ["PATH_INFO"] == "/long":
        start_response("200 OK", [("Content-Type", "text/plain")])
        return _long()
    body = b""
    try:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    except OSError:
        start_response("401 Unauthorized", [])
        return [b""]
    variables = {name: value for name, value in environ.items() if isinstance(value, str)}
    start_response("200 OK", [("Content-Type", "application/json")])
    return [orjson.dumps(variables | {"body": body.decode()})]


def _long() -> Iterator[bytes]:
    for _ in range(LONG_BODY_SIZE // 2**16):
        yield b"x" * 2**16


def respond_early(environ: Mapping[str, Any]) -> Response | None:
    if environ["PATH_INFO"] != "/early":
        return None
    return 200, [], orjson.dumps({"early": environ.get("HTTP_HOST")})


def admit(environ: Any) -> Allowance | None:
    sender = environ.get("HTTP_X_SENDER", "")
    return Allowance(sender, 1000) if sender else None


def refuse(_environ: Any, error: Error) -> Refusal:
    return Refusal(error.status, [("Connection", "close")], error.code.encode())


gateway = Gateway(
    application, admit=admit, refuse=refuse, bounds=BOUNDS, respond_early=respond_early
)

if __name__ == "__main__":
    tls = dict(zip(("ssl_cert", "ssl_key"), map(Path, sys.argv[2:]), strict=False))
    Server(
        "tests.config.small_web:gateway",
        port=int(sys.argv[1]),
        interface=Interfaces.WSGI,
        blocking_threads=4,
        blocking_threads_idle_timeout=5,
        backpressure=500,
        http1_settings=HTTP1Settings(max_buffer_size=MAX_HEADERS),
        websockets=False,
        **tls,
    ).serve()
