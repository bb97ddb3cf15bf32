"""People who follow each link that their phone got, once."""

import json
import sqlite3
import threading
from contextlib import closing, suppress
from pathlib import Path

import requests

POLL_INTERVAL = 0.2
_ARRIVED = "SELECT id, links FROM messages WHERE id > ? ORDER BY id"


class Visitors:
    def __init__(self, log: Path) -> None:
        self.followed = 0
        self._log = log
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="visitors", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _watch(self) -> None:
        newest, session = 0, requests.Session()
        with closing(sqlite3.connect(f"file:{self._log}?mode=ro", uri=True)) as log:
            while not self._stopping.wait(POLL_INTERVAL):
                for number, links in log.execute(_ARRIVED, (newest,)).fetchall():
                    newest = number
                    for link in json.loads(links):
                        self._follow(session, link)

    def _follow(self, session: requests.Session, link: str) -> None:
        with suppress(requests.RequestException):
            answer = session.get(link, allow_redirects=False, timeout=10)
            self.followed += answer.is_redirect
