"""Companies' backends and visitors that go on through the upgrade, and notice all that fails."""

import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count, cycle
from typing import Any

import requests

from tests.links.visiting import BROWSER_HEADERS
from tests.stack.carrier import Carrier
from tests.stack.programs import wait_until

TARGET = "https://example.com/orders/{}"
THREADS = 2
PAUSE = 0.5  # seconds between two rounds of a thread: the processes need to get a word in
OK = requests.codes.ok
PAGES = ("/cabinet/", "/cabinet/messages", "/cabinet/links", "/cabinet/balance")


@dataclass
class Traffic:
    """Each round is that of one customer: a code, a message with a link, a short link, a visit."""

    url: str
    demo: Mapping[str, str]  # what `tools.demo` wrote: a live key, a login
    carrier: Carrier
    phase: str = "before"
    failures: list[str] = field(default_factory=list)
    phones: dict[str, str] = field(default_factory=dict)  # by the id of the message sent there
    links: dict[str, int] = field(default_factory=dict)  # visits by the id of the link
    rounds: dict[str, int] = field(default_factory=dict)  # by phase
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    @contextmanager
    def flowing(self) -> Iterator[None]:
        stop = threading.Event()
        person = self._sign_in()
        with ThreadPoolExecutor(THREADS + 1) as pool:
            running = [pool.submit(self._until, stop) for _ in range(THREADS)]
            running.append(pool.submit(self._browse, person, stop))
            try:
                yield
            finally:
                stop.set()
            _raise_errors(running)

    def keep_on(self, phase: str, *, rounds: int = 5) -> None:
        """Waits until `rounds` of this phase are through."""
        self.phase = phase
        wait_until(
            lambda: self.rounds.get(phase, 0) >= rounds, 90, on_timeout=lambda: self.failures
        )

    def send_code(self) -> str:
        """A phone with a code that nobody has entered yet."""
        phone = f"+7926{next(self._numbers):07d}"
        key = {"Idempotency-Key": f"code-{phone}"}
        first = self.post("/otp/send", {"phone": phone}, **key)
        again = self.post("/otp/send", {"phone": phone}, **key)  # by the other generation
        self._expect(first.get("id"), again.get("id"), f"a repeated send to {phone}")
        self.phones[first.get("id", "")] = phone
        return phone

    def enter_code(self, phone: str) -> None:
        wait_until(lambda: bool(self.carrier.messages(phone)), on_timeout=lambda: phone)
        self.post("/otp/verify", {"phone": phone, "code": self.carrier.code(phone)})

    def get(self, path: str) -> dict[str, Any]:
        return self._call("GET", path, {})

    def post(self, path: str, body: dict[str, Any], **headers: str) -> dict[str, Any]:
        return self._call("POST", path, {"json": body}, **headers)

    def messages(self) -> list[dict[str, Any]]:
        """The messages sent here, as the history shows them."""
        result: list[dict[str, Any]] = []
        page: dict[str, Any] = {"has_more": True, "next_cursor": ""}
        while page["has_more"] and len(result) < len(self.phones):
            cursor = f"&cursor={page['next_cursor']}" if page["next_cursor"] else ""
            page = self.get(f"/messages?limit=200{cursor}")
            result += [row for row in page["data"] if row["id"] in self.phones]
        return result

    def _until(self, over: threading.Event) -> None:
        while not over.is_set():
            phase = self.phase
            self._round()
            self.rounds[phase] = self.rounds.get(phase, 0) + 1
            time.sleep(PAUSE)

    def _sign_in(self) -> requests.Session:
        person = requests.Session()
        page = f"{self.url}/account/login/"
        person.get(page, timeout=20)
        form = {"login": self.demo["email"], "password": self.demo["password"]}
        csrf = {"csrfmiddlewaretoken": person.cookies["csrftoken"]}
        response = person.post(page, data=form | csrf, timeout=20)
        assert "/cabinet/" in response.url, response.url
        return person

    def _browse(self, person: requests.Session, over: threading.Event) -> None:
        """A session begun with the old processes goes on with the new ones."""
        for page in cycle(PAGES):
            if over.wait(1):
                return
            response = person.get(f"{self.url}{page}", allow_redirects=False, timeout=20)
            self._expect(OK, response.status_code, page)

    def _round(self) -> None:
        self.enter_code(self.send_code())
        number = next(self._numbers)
        phone = f"+7927{number:07d}"
        sent = self.post("/links/send", {"phone": phone, "url": TARGET.format(number)})
        self.phones[sent.get("id", "")] = phone
        link = self.post("/links/shorten", {"url": f"{TARGET.format(number)}?again"})
        self.links[link.get("id", "")] = 2
        for _ in range(2):
            self._visit(link.get("slug", ""))
        self.get(f"/messages?phone={phone.replace('+', '%2B')}")

    def _visit(self, slug: str) -> None:
        response = requests.get(
            f"{self.url}/{slug}", headers=BROWSER_HEADERS, allow_redirects=False, timeout=20
        )
        self._expect(requests.codes.found, response.status_code, f"a visit of {slug}")

    def _call(self, method: str, path: str, body: dict[str, Any], **headers: str) -> dict[str, Any]:
        began = self.phase
        response = requests.request(
            method,
            f"{self.url}/api/v1{path}",
            headers={"Authorization": f"Bearer {self.demo['live_key']}", **headers},
            timeout=20,
            **body,
        )
        text = f"{path} ({began}): {response.text[:300]}"
        self._expect(OK, response.status_code, text)
        result: dict[str, Any] = response.json()
        return result

    def _expect(self, wanted: object, found: object, what: str) -> None:
        if wanted != found:
            self.failures.append(f"{self.phase}: {found}, not {wanted}: {what}")


def _raise_errors(running: list["Future[None]"]) -> None:
    for thread in running:
        thread.result(40)
