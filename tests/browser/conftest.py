"""Browser tests in the system's own Chromium; nothing is downloaded."""

import ctypes
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

# The shell without a window takes half the processor's time of the whole browser.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
# What htmx says when the next page cuts a request short, as pressing "Save" while typing does.
CUT_SHORT = ("htmx:afterRequest", "htmx:sendAbort", "htmx:sendError")


_PR_CAPBSET_DROP = 24  # linux/prctl.h
_CAP_SYS_NICE = 23  # linux/capability.h
TIMEOUT = 25_000  # ms until a page shows what is expected, on a busy machine


@contextmanager
def chromium() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    if sys.platform == "linux":
        # One that root starts would take precedence (nice -8) over the servers it waits for, and
        # over all other tests. What is started from now on may not; without root nothing may.
        ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, _CAP_SYS_NICE, 0, 0, 0)
    expect.set_options(timeout=TIMEOUT)
    # Playwright keeps an event loop in this thread, which Django takes for an async caller.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-background-networking", "--disable-component-update"],
        )
        yield browser
        browser.close()


@contextmanager
def visitor(browser: Browser) -> Iterator[Page]:
    """A new visitor; any complaint of the browser fails the test."""
    context = browser.new_context(
        locale="ru-RU",
        viewport={"width": 1280, "height": 800},
        permissions=["clipboard-read", "clipboard-write"],
    )
    page = context.new_page()
    complaints: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not message.text.startswith(CUT_SHORT):
            complaints.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    context.close()
    assert complaints == []


@pytest.fixture(scope="module")  # an event loop left in this thread would be in others' way
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with visitor(browser) as page:
        yield page
