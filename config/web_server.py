"""The web server: granian with our gateway instead of its WSGI bridge.

    python -m config.web_server --host 127.0.0.1 --port 8000 --workers 2

It accepts granian's options. granian runs RSGI applications on an event loop, one hop away from its
threads. Here the "loop" runs each callback immediately, so that the application runs on granian's
WSGI threads.
"""

import os
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from granian import _granian, cli
from granian.constants import HTTPModes
from granian.server.common import WORKERS_METHODS
from granian.server.mp import MPServer, WorkerProcess

from processes.server.gateway import Gateway

APPLICATION = "config.wsgi:gateway"
# Approximate bytes of headers; more get a 431. Many parsers take quadratic time.
MAX_HEADERS = 32_768
DEFAULTS = {
    "interface": "wsgi",
    # A send waits for its outcome on a thread: 48 waiters leave 16 threads to verify.
    "blocking_threads": 64,
    "backpressure": 2048,  # connections; an idle or slow one holds no thread
    "http1_buffer_size": MAX_HEADERS,
    "http1_header_read_timeout": 15_000,  # ms; also limits an idle connection
    "workers_kill_timeout": "8s",
    "websockets": False,
    "respawn_failed_workers": True,
}
OPEN_FILES = 65_536
# granian's annotations do not match its own calls.
_command: Any = cli
_internal: Any = _granian
_Worker: Any = _granian.RSGIWorker


class _ImmediateLoop:
    """Stands in for granian's event loop."""

    def call_soon(self, callback: Callable[..., Any], *arguments: Any, context: Any = None) -> None:
        callback(*arguments)

    call_soon_threadsafe = call_soon


def _scheduler(loop: _ImmediateLoop, gateway: Gateway) -> Any:
    scheduler = _internal.CallbackScheduler(loop, gateway.schedule, None, None, None)
    scheduler._schedule_fn = gateway.schedule  # noqa: SLF001 - as granian's own scheduler does
    return scheduler


def _stop_signal(gateway: Gateway) -> Any:
    """Handles the signal like granian, and stops the gateway too."""
    stop = _internal.WorkerSignal()

    def handle(_number: int, _frame: Any) -> None:
        gateway.stop()
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handle)
    return stop


class Server(MPServer):
    def __init__(self, target: str, **options: Any) -> None:
        # granian limits neither idle HTTP/2 connections nor unread responses, and HTTP/2 bodies may
        # have no length. A proxy in front may speak HTTP/2.
        super().__init__(target, **options | {"http": HTTPModes.http1})

    @staticmethod
    @WorkerProcess.wrap_target  # type: ignore[untyped-decorator]
    def _spawn_wsgi_worker(  # noqa: PLR0917 - granian's signature
        worker_id: int,
        gateway: Gateway,
        sock: Any,
        ipc: Any,
        _loop: Any,
        runtime_mode: Any,
        runtime_threads: int,
        runtime_blocking_threads: int | None,
        blocking_threads: int,
        blocking_threads_idle_timeout: int,
        backpressure: int,
        _task_impl: Any,
        http_mode: Any,
        http1_settings: Any,
        http2_settings: Any,
        _websockets: bool,
        static_path: Any,
        _log_access_fmt: str | None,
        ssl_ctx: Any,
        _scope_opts: dict[str, Any],
        metrics: Any,
    ) -> None:
        stopped = threading.Event()
        stop = _stop_signal(gateway)
        stop.add_cb(stopped.set)
        worker = _Worker(
            worker_id,
            sock,
            ipc,
            runtime_threads,
            runtime_blocking_threads,
            blocking_threads,
            blocking_threads_idle_timeout,
            backpressure,
            http_mode,
            http1_settings,
            http2_settings,
            False,
            static_path,
            *ssl_ctx,
            metrics,
        )
        loop = _ImmediateLoop()
        serve = getattr(worker, WORKERS_METHODS[runtime_mode][(sock[0] or sock[1]).is_uds()])
        gateway.start()
        serve(_scheduler(loop, gateway), loop, stop)
        limit_unread_responses(gateway.bounds.unread)
        stopped.wait()


def limit_unread_responses(seconds: float) -> None:
    """Makes the kernel close connections whose client reads nothing for this many seconds.

    Accepted sockets inherit the option from the listening socket, which granian does not expose.
    """
    milliseconds = int(seconds * 1000)
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():  # the option exists on Linux only
        return
    for path in descriptors.iterdir():
        with suppress(OSError):  # closed in the meantime, or not TCP
            if path.is_socket():
                with socket.socket(fileno=os.dup(int(path.name))) as listener:
                    if listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                        listener.setsockopt(
                            socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds
                        )


def raise_open_file_limit() -> None:
    """Raises the soft limit within the hard one. macOS reports infinity and refuses it."""
    now, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = OPEN_FILES if hard_limit == resource.RLIM_INFINITY else min(hard_limit, OPEN_FILES)
    if now != resource.RLIM_INFINITY and now < limit:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard_limit))


def main() -> None:
    raise_open_file_limit()
    _command.Server = Server
    _command.cli([*sys.argv[1:], APPLICATION], default_map=DEFAULTS, auto_envvar_prefix="GRANIAN")


if __name__ == "__main__":
    main()
