"""`python -m tools.simulator`: serves until SIGTERM or SIGINT."""

import asyncio
import os
import signal
import socket
import sqlite3
import sys
import time

from aiohttp import web

from tools.simulator.api import build_app
from tools.simulator.logs import LogInUseError, MessageLog
from tools.simulator.settings import Settings, SettingsError, read_settings

HOST = "127.0.0.1"
BACKLOG = 1024
GRACE = 0.3  # seconds for answers under way; what hangs on purpose is cut
KEEP_ALIVE = 300.0


def main() -> int:
    if os.environ.get("ENVIRONMENT", "").strip() not in {"", "development", "test"}:
        return _fail("it plays the vendors and signs in their names: not in production")
    # The pages show the time of the service's pages, whatever the machine's zone.
    os.environ.setdefault("TZ", os.environ.get("TIME_ZONE") or "Europe/Moscow")
    time.tzset()
    try:
        settings = read_settings(os.environ)
        listener = _listen(settings.port)
        smpp = None if settings.smpp_port is None else _listen(settings.smpp_port)
        log = MessageLog(settings.log_path)
    except SettingsError as error:
        return _fail(str(error))
    except LogInUseError as error:
        return _fail(f"another simulator is using {str(error).removesuffix('.lock')}")
    except (OSError, sqlite3.Error) as error:
        return _fail(str(error))
    try:
        asyncio.run(_serve(settings, listener, smpp, log))
    finally:
        log.close()
    return 0


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise SettingsError(f"cannot listen on {HOST}:{port}: {error.strerror}") from None
    listener.listen(BACKLOG)
    return listener


async def _serve(
    settings: Settings, listener: socket.socket, smpp: socket.socket | None, log: MessageLog
) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    runner = web.AppRunner(
        build_app(settings, log, smpp),
        access_log=None,
        shutdown_timeout=GRACE,
        keepalive_timeout=KEEP_ALIVE,
    )
    await runner.setup()
    await web.SockSite(runner, listener, backlog=BACKLOG).start()
    address = f"http://{HOST}:{listener.getsockname()[1]}"
    if smpp is not None:
        address += f" smpp://{HOST}:{smpp.getsockname()[1]}"
    sys.stdout.write(f"simulator: {address} (log {settings.log_path})\n")
    sys.stdout.flush()
    await stopped.wait()
    await runner.cleanup()


def _fail(why: str) -> int:
    sys.stderr.write(f"simulator: {why}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
