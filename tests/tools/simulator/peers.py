"""The simulator as a real process, and a webhook receiver."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import requests

ROOT = Path(__file__).parents[3]
ACCOUNT = {
    "WHATSAPP_TOKEN": "wa-token",
    "WHATSAPP_PHONE_NUMBER_ID": "106540352242922",
    "WHATSAPP_BUSINESS_ACCOUNT_ID": "102290129340398",
    "WHATSAPP_APP_SECRET": "app_secret_123",
    "TELEGRAM_GATEWAY_TOKEN": "AAEtesttoken",
    "TELEGRAM_BOT_TOKEN": "123456:bot-token",
    "TELEGRAM_BOT_SECRET": "bot-secret",
    "MAX_BOT_TOKEN": "max-bot-token",
    "MAX_BOT_SECRET": "max-bot-secret",
    "TWILIO_ACCOUNT_SID": "AC00000000000000000000000000000000",
    "TWILIO_AUTH_TOKEN": "12345",
    "TWILIO_FROM": "+15005550006",
    "SMSC_LOGIN": "demo",
    "SMSC_PASSWORD": "smsc-password",
    "SMSC_SENDER": "KVITOK",
    "SMSC_CALLBACK_SECRET": "smsc-secret",
    "STRIPE_SECRET_KEY": "sk_test_1",
    "STRIPE_WEBHOOK_SECRET": "whsec_test",
    "SHORT_URL": "https://kv.example",
}


@dataclass(frozen=True)
class Hook:
    path: str
    headers: dict[str, str]
    body: bytes
    at: float

    @property
    def json(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self.body)
        return parsed

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode(), keep_blank_values=True))


class Receiver(ThreadingHTTPServer):
    """Keeps every call it gets; `status` is what it answers."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Answerer)
        self.status = 200
        self.hooks: list[Hook] = []
        self.arrived = threading.Condition()
        self.port = self.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()

    def keep(self, hook: Hook) -> None:
        with self.arrived:
            self.hooks.append(hook)
            self.arrived.notify_all()

    def wait(
        self, wanted: Callable[[Hook], bool], count: int = 1, within: float = 25
    ) -> list[Hook]:
        """The first calls that fit, as soon as there are so many."""
        with self.arrived:
            self.arrived.wait_for(lambda: len(self.having(wanted)) >= count, within)
            result = self.having(wanted)
        assert len(result) >= count, f"{len(result)} of {count} calls came"
        return result

    def having(self, wanted: Callable[[Hook], bool]) -> list[Hook]:
        return [hook for hook in self.hooks if wanted(hook)]


class Answerer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 10
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        status = self.server.status
        self.server.keep(Hook(self.path, headers, body, time.time()))
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.keep(Hook(self.path, headers, b"", time.time()))
        self.send_response(302)
        self.send_header("Location", f"{self.server.url}/target")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_args: object) -> None:
        return


class Simulator:
    """`python -m tools.simulator` on a port of its own choosing."""

    def __init__(self, log: Path, public_url: str, **env: str) -> None:
        self.log = log
        self.public_url = public_url
        self._env = {
            "PATH": os.environ["PATH"],
            "PUBLIC_URL": public_url,
            "SIMULATOR_PORT": "0",
            "SIMULATOR_LOG": str(log),
            **ACCOUNT,
            **env,
        }
        self.start()

    def start(self) -> None:
        self.process = run(self._env)
        assert self.process.stdout is not None
        self.first_line = self.process.stdout.readline()
        assert self.first_line.startswith("simulator: http://"), self.first_line
        self.url = self.first_line.split()[1]

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        code = self.process.wait(20)
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.process.stdout.close()
        self.process.stderr.close()
        return code

    def close(self) -> None:
        if self.process.poll() is None:
            self.end(signal.SIGKILL)

    def messages(self, phone: str) -> list[dict[str, Any]]:
        result: list[dict[str, Any]] = get(f"{self.url}/phones/{phone}/messages").json()
        return result

    def state(self, phone: str) -> str:
        state: str = self.messages(phone)[0]["state"]
        return state

    def set_fault(self, **fault: object) -> None:
        assert post(f"{self.url}/faults", json=fault).status_code == 201

    def behave(self) -> None:
        requests.delete(f"{self.url}/faults", timeout=5).raise_for_status()

    def page(self, phone: str) -> str:
        return get(f"{self.url}/?phone={phone}&lang=en").text

    def do(self, phone: str, action: str) -> None:
        response = post(f"{self.url}/phones/{phone}/contact", json={"action": action})
        assert response.status_code == 200


def run(env: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tools.simulator"],
        cwd=ROOT,
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def eventually(condition: Callable[[], bool], within: float = 25) -> None:
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.01)


def get(url: str, **more: Any) -> requests.Response:
    return requests.get(url, timeout=5, **more)


def post(url: str, **more: Any) -> requests.Response:
    return requests.post(url, timeout=more.pop("timeout", 5), **more)
