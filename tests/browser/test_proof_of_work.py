"""A page written by the documentation solves a proof of work."""

import json
import re
import runpy
from collections.abc import Callable, Iterator
from datetime import timedelta
from html import unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from accounts.models import Company, Mode
from channels.models import Message
from otp.models import GuardRestriction
from otp.protection import restrictions
from tests.factories import ApiKeyFactory
from tests.ports import free_port

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("queued_at_once")]
PHONE = "+79161234567"
WORDS = {"ru": ("Получить код", "Код отправлен"), "en": ("Get a code", "The code is on its way")}
SendCode = Callable[..., dict[str, object]]


class Shop(ThreadingHTTPServer):
    """The company's site: one page, and a backend that asks for codes."""

    def __init__(self, page: str, policy: str, send_code: SendCode) -> None:
        super().__init__(("127.0.0.1", free_port()), Visit)
        self.page = page
        self.policy = policy
        self.send_code = send_code
        self.asked: list[dict[str, str]] = []
        # Not the host of the API, and a secure context to a browser, as HTTPS is.
        self.url = f"http://shop.localhost:{self.server_port}"


class Visit(BaseHTTPRequestHandler):
    server: Shop

    def do_GET(self) -> None:
        self._respond(self.server.page, "text/html; charset=utf-8")

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(asked)
        self._respond(json.dumps(self.server.send_code(**asked)), "application/json")

    def _respond(self, text: str, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Security-Policy", self.server.policy)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_args: object) -> None:
        """Drops the log lines."""


def documented(language: str, anchor: str) -> str:
    """Returns a snippet of the page *Protection*."""
    body = Client().get(f"/docs/protection?lang={language}").content.decode()
    match = re.search(rf'<pre id="{anchor}".*?<code>(.*?)</code>', body, re.DOTALL)
    assert match is not None
    return unescape(re.sub(r"<[^>]+>", "", match[1]))


def challenged_key(company: Company) -> str:
    """A live key with which a code to the phone needs a proof."""
    now = timezone.now()
    GuardRestriction.objects.create(
        company=company,
        kind="prefix-4",
        value=PHONE[:-4],
        step=GuardRestriction.Step.CHALLENGE,
        rule="unverified",
        is_enforced=True,
        codes=12,
        began_at=now,
        until=now + timedelta(hours=1),
    )
    restrictions.publish(company)
    return ApiKeyFactory.create(company=company, mode=Mode.LIVE).plaintext


@pytest.fixture(params=["ru", "en"])
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def _addresses(
    live_server: LiveServer, settings: Settings, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PUBLIC_URL = live_server.url
    monkeypatch.setenv("KVITOK_URL", f"{live_server.url}/api/v1")
    monkeypatch.setenv("KVITOK_KEY", challenged_key(company))


@pytest.fixture
def shop(
    live_server: LiveServer, language: str, tmp_path: Path, _addresses: None
) -> Iterator[Shop]:
    backend = tmp_path / "backend.py"
    backend.write_text(documented(language, "challenge-backend"), encoding="utf-8")
    page = f'<!doctype html><html lang="{language}">{documented(language, "challenge-page")}'
    # No more than the documentation asks for, but the page's own script, which is inline.
    policy = (
        f"default-src 'none'; connect-src 'self'; script-src {live_server.url} 'unsafe-inline'; "
        "worker-src blob:; style-src 'unsafe-inline'"
    )
    shop = Shop(page, policy, runpy.run_path(str(backend))["send_code"])
    thread = Thread(target=shop.serve_forever, args=[0.01])
    thread.start()
    yield shop
    shop.shutdown()
    thread.join()
    shop.server_close()


def test_documented_page_solves_the_challenge(
    page: Page, live_server: LiveServer, shop: Shop, language: str
) -> None:
    button, done = WORDS[language]
    requested: set[str] = set()
    page.on("request", lambda request: requested.add(request.url))

    page.goto(f"{shop.url}/")
    page.get_by_role("textbox").fill(PHONE)
    page.get_by_role("button", name=button).click()
    expect(page.get_by_text(done)).to_be_visible()

    first, second = shop.asked
    assert (first, set(second)) == ({"phone": PHONE}, {"phone", "proof"})
    assert Message.objects.get().phone == PHONE
    scripts = ["altcha.js", "altcha.ru.js"] if language == "ru" else ["altcha.js"]
    elsewhere = {url for url in requested if not url.startswith((f"{shop.url}/", "blob:"))}
    assert elsewhere == {f"{live_server.url}/otp/{script}" for script in scripts}
