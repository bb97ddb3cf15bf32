"""Large responses: concurrent writes, and behaviour without /proc."""

import re
import resource
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Semaphore, Thread
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import pytest

from catalogue.errors import Error
from config import web_server
from processes.server import rsgi_response
from processes.server.rsgi_response import (
    MAX_FILES,
    MAX_FILES_PER_COMPANY,
    MAX_IN_MEMORY,
    ResponseSender,
)
from tests.odd_values.test_public import every_route


class Protocol:
    """Granian's protocol, as far as responses need it."""

    response: tuple[Any, ...] = ()

    def response_bytes(self, *response: Any) -> None:
        self.response = ("bytes", *response)

    def response_file(self, *response: Any) -> None:
        self.response = ("file", *response)


@dataclass
class CompanyResponse:
    """A response like one of Django's that `member_required` has marked."""

    lines: Iterable[bytes]
    company_id: int | None

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.lines)


class Export:
    """A long answer that is not done before it is let go."""

    def __init__(self) -> None:
        self.may_end = Event()
        self.is_written = Semaphore(0)  # once for each that has a place

    def __call__(self, _environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        start("200 OK", [("Content-Type", "text/csv")])
        return self._lines()

    def of(self, company_id: int | None) -> WSGIApplication:
        return lambda environ, start: CompanyResponse(self(environ, start), company_id)

    def _lines(self) -> Iterator[bytes]:
        yield b"x" * (MAX_IN_MEMORY + 1)
        self.is_written.release()
        self.may_end.wait(60)
        yield b"end"


@pytest.fixture
def sender(monkeypatch: pytest.MonkeyPatch) -> Iterator[ResponseSender]:
    sender = ResponseSender(refuse)
    yield sender
    monkeypatch.setattr(rsgi_response, "OPENED_WITHIN", 0.0)
    sender.close_files()


def refuse(_environ: WSGIEnvironment, error: Error) -> tuple[int, list[tuple[str, str]], bytes]:
    return error.status, [("Retry-After", "1")], error.code.encode()


def test_long_answers_of_a_company_leave_a_place_to_others(sender: ResponseSender) -> None:
    export = Export()
    served = [Protocol() for _ in range(MAX_FILES)]
    companies = [1] * MAX_FILES_PER_COMPANY + [2]
    threads = [
        Thread(target=sender.send, args=(export.of(company), {}, protocol))
        for company, protocol in zip(companies, served, strict=True)
    ]
    for thread in threads[:-1]:
        thread.start()
    refused = [Protocol(), Protocol()]

    assert all(export.is_written.acquire(timeout=25) for _ in threads[:-1])
    sender.send(export.of(1), {}, refused[0])  # its third
    threads[-1].start()
    assert export.is_written.acquire(timeout=25)
    sender.send(export.of(None), {}, refused[1])  # all places are taken
    export.may_end.set()
    for thread in threads:
        thread.join()
    sender.send(export.of(1), {}, served[0])

    assert [protocol.response for protocol in refused] == [
        ("bytes", 503, [("Retry-After", "1")], b"unavailable")
    ] * 2
    assert [protocol.response[:2] for protocol in served] == [("file", 200)] * MAX_FILES


def test_failed_long_response_releases_its_slot(sender: ResponseSender) -> None:
    def fail(_environ: WSGIEnvironment, start: StartResponse) -> Iterator[bytes]:
        start("200 OK", [])
        yield b"x" * (MAX_IN_MEMORY + 1)
        raise ConnectionError

    export = Export()
    last = Protocol()
    export.may_end.set()
    for _ in range(MAX_FILES):
        with pytest.raises(ConnectionError):
            sender.send(fail, {}, Protocol())

    sender.send(export, {}, last)

    assert last.response[:2] == ("file", 200)


def test_long_answer_is_sent_from_memory_without_proc(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(rsgi_response, "DESCRIPTORS", tmp_path / "none")
    export = Export()
    protocol = Protocol()
    export.may_end.set()

    ResponseSender(refuse).send(export, {}, protocol)

    assert protocol.response[:2] == ("bytes", 200)
    assert protocol.response[3] == b"x" * (MAX_IN_MEMORY + 1) + b"end"


@pytest.mark.parametrize(
    ("most", "wanted"), [(resource.RLIM_INFINITY, 65_536), (4096, 4096), (2**20, 65_536)]
)
def test_open_files_are_raised_to_a_number(
    monkeypatch: pytest.MonkeyPatch, most: int, wanted: int
) -> None:
    tried = []

    def refuse_all(_which: int, limits: tuple[int, int]) -> None:
        tried.append(limits)
        raise ValueError("not allowed to raise maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _which: (256, most))
    monkeypatch.setattr(resource, "setrlimit", refuse_all)

    web_server.raise_open_file_limit()

    assert tried == [(wanted, most)]


def test_proxy_waits_longer_for_exports() -> None:
    text = Path("deploy/nginx.conf").read_text("utf-8")
    (result,) = re.finditer(r"location ~ (\S+) \{\s+proxy_read_timeout 600s;", text)

    routes = [route for route in every_route() if route.startswith("cabinet/")]
    exports = [route for route in routes if route.endswith((".csv", "zip"))]
    assert len(exports) >= 8
    assert [route for route in exports if not re.search(result[1], f"/{route}")] == []
