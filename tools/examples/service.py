"""The service that the examples call, a new or a running one, and a bad network in front of it."""

import asyncio
import json
import os
import re
import signal
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
from aiohttp import web

from config.local.processes import StartError
from tests.stack.programs import Program
from tools.stack.stack import free_ports, kept_environ

_STARTED = "Ctrl-C stops everything"
_UNAVAILABLE = b'{"success": false, "code": "unavailable", "message": "-", "request_id": "-"}'


@dataclass(frozen=True)
class Service:
    """An API and a test key for it."""

    url: str  # https://HOST/api/v1
    key: str

    def messages(self, phone: str) -> list[dict[str, Any]]:
        """The messages on the phone, the newest first."""
        response = requests.get(
            f"{self.url}/test/messages",
            params={"phone": phone},
            headers={"Authorization": f"Bearer {self.key}"},
            timeout=10,
        )
        response.raise_for_status()
        rows: list[dict[str, Any]] = response.json()["data"]
        return rows


@contextmanager
def running() -> Iterator[Service]:
    """The service of KVITOK_URL and KVITOK_KEY, or else a temporary `make run`."""
    url, key = os.environ.get("KVITOK_URL"), os.environ.get("KVITOK_KEY")
    if url and key:
        if not re.match("kv_test_", key):
            raise StartError("KVITOK_KEY must be a test key: its messages are read back")
        yield Service(url.rstrip("/"), key)
        return
    with tempfile.TemporaryDirectory(prefix="kvitok-examples-") as directory:
        supervisor = _supervisor(Path(directory))
        try:
            supervisor.start()
            demo = json.loads((Path(directory) / "demo.json").read_text(encoding="utf-8"))
            yield Service(demo["base_url"], demo["test_key"])
        finally:
            supervisor.terminate()
            supervisor.wait_stopped(30)


def _supervisor(directory: Path) -> Program:
    port, simulator_port = map(str, free_ports(2))
    ours = {"VAR_DIR": str(directory), "PORT": port, "SIMULATOR_PORT": simulator_port}
    environ = kept_environ() | ours | {"SIMULATOR_RECEIPT_DELAY_MS": "0"}
    log, command = directory / "supervisor.log", ["-m", "config.local.supervisor"]
    program = Program(command, log=log, environ=environ, words=_STARTED)
    program.die, program.start_timeout = signal.SIGTERM, 120.0
    return program


HANG_SECONDS = 20.0  # longer than an example waits
RETRY_AFTER = 3  # seconds, unlike the pauses that examples would choose themselves
_HOP_BY_HOP = {
    "connection",
    "content-length",
    "host",
    "http2-settings",
    "transfer-encoding",
    "upgrade",
    "content-encoding",  # the body is decoded here
}


class BadNetwork:
    """A proxy in which each request meets the next fault; it records the requests."""

    def __init__(self, upstream: str, *, is_down: bool) -> None:
        self.url = ""
        self.keys: list[str | None] = []  # the Idempotency-Key of each request
        self.replayed = False  # the last answer was that of an earlier request
        self.hung_up = False  # the client disconnected while no answer came
        self._is_down = is_down  # every request gets a proxy's error page
        self._upstream = urlsplit(upstream)

    async def start(self) -> web.ServerRunner:
        runner = web.ServerRunner(web.Server(self._answer), shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}{self._upstream.path}"
        return runner

    async def _answer(self, request: web.BaseRequest) -> web.Response:
        self.keys.append(request.headers.get("Idempotency-Key"))
        response = await self._faulty(request)
        response.force_close()
        return response

    async def _faulty(self, request: web.BaseRequest) -> web.Response:
        if self._is_down:
            return _bad_gateway(headers={"Retry-After": "1"})
        match len(self.keys):
            case 1:
                response = await self._forward(request)
                await self._keep_silent(request)
                return response
            case 2:
                await self._forward(request)
                return _bad_gateway()
            case 3:
                headers = {"Retry-After": str(RETRY_AFTER)}
                return _page(503, "application/json", _UNAVAILABLE, headers=headers)
            case _:
                return await self._forward(request)

    async def _forward(self, request: web.BaseRequest) -> web.Response:
        url = self._upstream._replace(path=request.path).geturl()
        body, headers = await request.read(), _end_to_end(request.headers)
        forward = partial(requests.post, url, data=body, headers=headers, timeout=HANG_SECONDS)
        response = await asyncio.to_thread(forward)
        self.replayed = response.headers.get("Idempotent-Replayed") == "true"
        headers = _end_to_end(response.headers)
        return web.Response(status=response.status_code, headers=headers, body=response.content)

    async def _keep_silent(self, request: web.BaseRequest) -> None:
        until = time.monotonic() + HANG_SECONDS
        while time.monotonic() < until and not self.hung_up:
            await asyncio.sleep(0.05)
            self.hung_up = request.transport is None


@contextmanager
def bad_network(upstream: str, *, is_down: bool = False) -> Iterator[BadNetwork]:
    network, loop = BadNetwork(upstream, is_down=is_down), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    runner = asyncio.run_coroutine_threadsafe(network.start(), loop).result()
    try:
        yield network
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _end_to_end(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in _HOP_BY_HOP}


def _page(status: int, content_type: str, body: bytes, **options: Any) -> web.Response:
    return web.Response(status=status, content_type=content_type, body=body, **options)


_BAD_GATEWAY = b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
_bad_gateway = partial(_page, 502, "text/html", _BAD_GATEWAY)
