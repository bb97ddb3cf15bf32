"""Concurrent API clients, and the responses they got."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import requests

from tests.stack.sender import Sender
from tests.stack.stack import Stack

CLIENTS = 8  # at a time
PAUSE = 0.1  # seconds between two visits of a client
TIMEOUT = 60.0  # seconds until a code must be on its phone
TARGET = "https://example.com/orders/77"
EXPECTED = {"send": 200, "verify": 200, "shorten": 200, "follow": 302}


@dataclass(frozen=True)
class Call:
    call: str
    status: int
    asked_at: float
    seconds: float
    message_status: str  # the status of the message, where a message was sent


class ConcurrentClients:
    """Inside the block, each client loops: send a code, verify it, shorten and follow a link."""

    def __init__(self, stack: Stack, sender: Sender) -> None:
        self.responses: list[Call] = []
        self.phones: list[str] = []
        self._stack = stack
        self._sender = sender
        self._errors: list[BaseException] = []
        self._stopping = threading.Event()
        self._clients = [threading.Thread(target=self._loop) for _ in range(CLIENTS)]

    def __enter__(self) -> "ConcurrentClients":
        for client in self._clients:
            client.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for client in self._clients:
            client.join()

    @property
    def failures(self) -> list[object]:
        """Unexpected responses, and the errors that ended clients."""
        wrong = [
            response for response in self.responses if response.status != EXPECTED[response.call]
        ]
        return [*wrong, *self._errors]

    def count(self) -> Counter[str]:
        return Counter(response.call for response in self.responses)

    def has_sends_answered_since(self, moment: float) -> bool:
        return any(
            response.message_status in {"sent", "delivered"}
            for response in self.responses
            if response.asked_at >= moment
        )

    def _loop(self) -> None:
        try:
            while not self._stopping.is_set():
                self._run_once()
                time.sleep(PAUSE)
        except (requests.RequestException, AssertionError) as error:
            self._errors.append(error)

    def _run_once(self) -> None:
        phone = self._stack.phone()
        self.phones.append(phone)
        self._ask("send", lambda: self._sender.send_code(phone))
        code = self._read(phone)
        self._ask("verify", lambda: self._sender.verify(phone, code))
        made = self._ask("shorten", lambda: self._sender.post("/links/shorten", {"url": TARGET}))
        url = made.json().get("short_url", "")
        self._ask("follow", lambda: requests.get(url, allow_redirects=False, timeout=20))

    def _ask(self, call: str, ask: Callable[[], requests.Response]) -> requests.Response:
        asked_at = time.monotonic()
        response = ask()
        seconds = time.monotonic() - asked_at
        message_status = response.json()["status"] if call == "send" and response.ok else ""
        self.responses.append(Call(call, response.status_code, asked_at, seconds, message_status))
        return response

    def _read(self, phone: str) -> str:
        """Waits for the code on the phone."""
        deadline = time.monotonic() + TIMEOUT
        while not (messages := self._stack.carrier.messages(phone)):
            assert time.monotonic() < deadline, f"nothing came to {phone}"
            time.sleep(0.05)
        return str(messages[0]["code"])
