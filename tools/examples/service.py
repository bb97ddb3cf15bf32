"""The service that the examples talk to: one of our own, or one that is running."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from config.environment.variables import ROOT
from config.local.processes import StartError, last_lines, signal_group, spawn
from tools.stack.programs import free_ports
from tools.stack.stack import KEPT

PATIENCE = 120.0  # seconds until everything must have started
_STARTED = "Ctrl-C stops everything"


@dataclass(frozen=True)
class Service:
    """An API and a test key for it."""

    url: str  # https://HOST/api/v1
    key: str

    def messages(self, phone: str) -> list[dict[str, Any]]:
        """What the phone would have shown, the newest first."""
        answer = requests.get(
            f"{self.url}/test/messages",
            params={"phone": phone},
            headers={"Authorization": f"Bearer {self.key}"},
            timeout=10,
        )
        answer.raise_for_status()
        found: list[dict[str, Any]] = answer.json()["data"]
        return found


@contextmanager
def running() -> Iterator[Service]:
    """That of KVITOK_URL and KVITOK_KEY, or else the whole of `make run` for the time being."""
    url, key = os.environ.get("KVITOK_URL"), os.environ.get("KVITOK_KEY")
    if url and key:
        if not re.match("kv_test_", key):
            raise StartError("KVITOK_KEY must be a test key: what it sends is read back")
        yield Service(url.rstrip("/"), key)
        return
    with tempfile.TemporaryDirectory(prefix="kvitok-examples-") as place, _started(Path(place)):
        demo = json.loads((Path(place) / "demo.json").read_text(encoding="utf-8"))
        yield Service(demo["base_url"], demo["test_key"])


@contextmanager
def _started(place: Path) -> Iterator[None]:
    log = place / "supervisor.log"
    port, simulator_port = free_ports(2)
    ours = {
        "VAR_DIR": str(place),
        "PORT": str(port),
        "SIMULATOR_PORT": str(simulator_port),
        "SIMULATOR_RECEIPT_DELAY_MS": "0",
    }
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    command = [sys.executable, "-m", "config.local.supervisor"]
    process = spawn(command, log=log, env=kept | ours, cwd=ROOT)
    try:
        _wait(process, log)
        yield
    finally:
        signal_group(process, signal.SIGTERM)
        process.wait(30)


def _wait(process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while _STARTED not in log.read_text(encoding="utf-8", errors="replace"):
        if process.poll() is not None or time.monotonic() > deadline:
            raise StartError("the service does not start: " + " ".join(last_lines(log, 3)))
        time.sleep(0.1)
