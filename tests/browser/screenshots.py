"""`make screenshots`: the main pages of the running demo, in both themes, into docs/screenshots.

Run `make run` in another terminal first: its var/demo.json says where it is and how to sign in.
"""

import io
import json
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Literal

import requests
from PIL import Image
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.browser.conftest import CHROMIUM

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs/screenshots"
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
DESKTOP = (1280, 800)
PHONE = (360, 740)
TEST_CODES = [("+79990000000", "whatsapp"), ("+79990000010", "telegram"), ("+79990000020", "sms")]
MAX_FILE_SIZE = 200_000  # bytes
PageView = tuple[str, str, tuple[int, int]]
OPEN_PAGES: list[PageView] = [("home", "/", DESKTOP), ("docs", "/docs/send-code", DESKTOP)]
PAGES: list[PageView] = [
    ("overview", "/cabinet/", DESKTOP),
    ("overview-phone", "/cabinet/", PHONE),
    ("messages", "/cabinet/messages", DESKTOP),
    ("message", "main tbody tr a", DESKTOP),  # the first of the list
    ("test-phone", "/cabinet/test-phone", DESKTOP),
    ("balance", "/cabinet/balance", DESKTOP),
    ("keys", "/cabinet/keys", DESKTOP),
]


def main() -> None:
    demo = json.loads((ROOT / "var/demo.json").read_text(encoding="utf-8"))
    FOLDER.mkdir(exist_ok=True)
    send_test_codes(demo)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        state = signed_in(browser, demo)
        for theme, (pages, who) in product(THEMES, ((OPEN_PAGES, None), (PAGES, state))):
            context = browser.new_context(
                base_url=origin(demo), storage_state=who, color_scheme=theme, locale="ru-RU"
            )
            for name, picture in pictures(context, pages):
                save(FOLDER / f"{name}-{theme}.png", picture)
            context.close()
        browser.close()


def send_test_codes(demo: dict[str, str]) -> None:
    """Sends codes to the test phone, so that it shows some; a test key sends and costs nothing."""
    for phone, channel in TEST_CODES:
        requests.post(
            f"{demo['base_url']}/otp/send",
            json={"phone": phone, "channel": channel},
            headers={"Authorization": f"Bearer {demo['test_key']}"},
            timeout=10,
        ).raise_for_status()


def origin(demo: dict[str, str]) -> str:
    return demo["cabinet_url"].removesuffix("/cabinet/")


def signed_in(browser: Browser, demo: dict[str, str]) -> Any:
    context = browser.new_context(base_url=origin(demo), locale="ru-RU")
    page = context.new_page()
    page.goto("/account/login/")
    page.locator("[name=login]").fill(demo["email"])
    page.locator("[name=password]").fill(demo["password"])
    page.locator("main form button[type=submit]").first.click()
    page.wait_for_url("**/cabinet/**")
    state = context.storage_state()
    context.close()
    return state


def pictures(context: BrowserContext, pages: list[PageView]) -> Iterator[tuple[str, bytes]]:
    page = context.new_page()
    for name, where, (width, height) in pages:
        page.set_viewport_size({"width": width, "height": height})
        open_page(page, where)
        page.evaluate("document.fonts.ready.then(() => true)")
        yield name, page.screenshot()


def open_page(page: Page, where: str) -> None:
    if not where.startswith("/"):
        page.locator(where).first.click()
        page.wait_for_load_state()
        return
    response = page.goto(where)
    if response is None or not response.ok:
        sys.exit(f"{where} is not there: {response and response.status}")


def save(path: Path, picture: bytes) -> None:
    """Saves with a palette of 256 colours, which the pages hardly exceed."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    size = path.stat().st_size
    if size > MAX_FILE_SIZE:
        sys.exit(f"{path.name} weighs {size} bytes")
    sys.stdout.write(f"{path.relative_to(ROOT)} {size // 1024} KB\n")


if __name__ == "__main__":
    main()
