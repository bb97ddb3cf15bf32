"""Webhooks, signed by the reference library, that an example must accept or refuse."""

import base64
import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import requests
from standardwebhooks import Webhook

from config.local.processes import signal_group
from tools.stack.programs import free_ports

# Spaces, an escaped slash and Cyrillic: nothing that parsing and printing again would leave alone.
BODY = (
    '{"type":  "message.delivered", "timestamp": "2026-11-20T09:05:00Z",'
    ' "data": {"id": "msg_1", "text": "Код\\/\\u043a\\u043e\\u0434 доставлен"}}'
)


@dataclass(frozen=True)
class WebhookCase:
    name: str
    is_genuine: bool
    headers: Mapping[str, str]
    body: bytes = field(default=BODY.encode())


def new_secret() -> str:
    return f"whsec_{base64.b64encode(secrets.token_bytes(24)).decode()}"


def signed(secret: str, *, sent_ago: float = 0, body: str = BODY) -> dict[str, str]:
    sent_at = datetime.now(UTC) - timedelta(seconds=sent_ago)
    name = f"evt_{secrets.token_hex(8)}"
    return {
        "webhook-id": name,
        "webhook-timestamp": str(int(sent_at.timestamp())),
        "webhook-signature": Webhook(secret).sign(name, sent_at, body),
    }


def cases(secret: str) -> list[WebhookCase]:
    """What a receiver that knows `secret` is sent."""
    genuine, foreign = signed(secret), signed(new_secret())
    both = f"{foreign['webhook-signature']} {genuine['webhook-signature']}"
    flipped = bytearray(BODY.encode())
    flipped[BODY.index("msg_1") + 4] ^= 1  # still JSON
    return [
        WebhookCase("genuine", is_genuine=True, headers=genuine),
        WebhookCase("4 minutes old", is_genuine=True, headers=signed(secret, sent_ago=240)),
        WebhookCase(
            "second signature", is_genuine=True, headers=genuine | {"webhook-signature": both}
        ),
        WebhookCase("flipped bit", is_genuine=False, headers=genuine, body=bytes(flipped)),
        WebhookCase("6 minutes old", is_genuine=False, headers=signed(secret, sent_ago=360)),
        WebhookCase("6 minutes ahead", is_genuine=False, headers=signed(secret, sent_ago=-360)),
        WebhookCase(
            "changed time",
            is_genuine=False,
            headers=genuine | {"webhook-timestamp": str(int(time.time()) + 1)},
        ),
        WebhookCase("another id", is_genuine=False, headers=genuine | {"webhook-id": "evt_other"}),
        WebhookCase("another secret", is_genuine=False, headers=foreign),
        WebhookCase(
            "no signature", is_genuine=False, headers=genuine | {"webhook-signature": "v1,"}
        ),
        WebhookCase(
            "words for a time", is_genuine=False, headers=genuine | {"webhook-timestamp": "now"}
        ),
        WebhookCase("no headers", is_genuine=False, headers={}),
    ]


@contextmanager
def receiver(
    command: Sequence[str | Path], *, address: bool, env: Mapping[str, str], log: Path
) -> Iterator[str]:
    """The address at which an example receives; with `address` it is passed as to PHP's server."""
    (port,) = free_ports(1)
    runner, *words = command
    arguments = [runner, "-S", f"127.0.0.1:{port}", *words] if address else command
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - an example
            arguments,
            env={**os.environ, **env, "PORT": str(port)},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # it may be a wrapper: tsx is
        )
        try:
            _wait(process, port)
            yield f"http://127.0.0.1:{port}/webhooks"
        finally:
            signal_group(process, signal.SIGKILL)
            process.wait()


def post(url: str, case: WebhookCase) -> int:
    """The status it was answered with, 0 when it was not answered."""
    headers = {"Content-Type": "application/json", **case.headers}
    try:
        return requests.post(url, data=case.body, headers=headers, timeout=10).status_code
    except requests.RequestException:
        return 0


def _wait(process: "subprocess.Popen[bytes]", port: int) -> None:
    deadline = time.monotonic() + 30
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        if process.poll() is not None or time.monotonic() > deadline:
            raise OSError("it does not listen")
        time.sleep(0.05)
