"""Visitors who follow short links, each with a unique referrer."""

import threading
import time
from collections.abc import Sequence
from http.client import HTTPConnection, HTTPException
from itertools import count
from urllib.parse import urlsplit

from tests.links.visiting import BROWSER_HEADERS

VISITORS = 8  # at a time
PAUSE = 0.05  # seconds, where nobody answers


class LinkVisitors:
    """Inside the block, visits until `limit` were answered, then waits for a higher limit."""

    def __init__(self, url: str, slugs: Sequence[str]) -> None:
        self._address = urlsplit(url).netloc
        self._slugs = slugs
        self._numbers = count()
        self.limit = 0
        self.answered: dict[str, float] = {}  # referrer → when, by the monotonic clock
        self.unanswered: set[str] = set()  # connected, and then cut off: counted or not
        self.unexpected_statuses: list[int] = []
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._loop) for _ in range(VISITORS)]

    def __enter__(self) -> "LinkVisitors":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _loop(self) -> None:
        connection = self._connection()
        while not self._stopping.is_set():
            if len(self.answered) >= self.limit:
                time.sleep(PAUSE)
                continue
            number = next(self._numbers)
            referrer = f"v{number}.example"
            try:
                status = self._follow(connection, self._slugs[number % len(self._slugs)], referrer)
            except (OSError, HTTPException):
                connection.close()
                connection = self._connection()
                self.unanswered.add(referrer)
                time.sleep(PAUSE)
                continue
            self.answered[referrer] = time.monotonic()
            if status != 302:
                self.unexpected_statuses.append(status)
        connection.close()

    def _connection(self) -> HTTPConnection:
        return HTTPConnection(self._address, timeout=30)

    def _follow(self, connection: HTTPConnection, slug: str, referrer: str) -> int:
        headers = BROWSER_HEADERS | {"Referer": f"https://{referrer}/"}
        connection.request("GET", f"/{slug}", headers=headers)
        response = connection.getresponse()
        response.read()
        return response.status
