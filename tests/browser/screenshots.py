"""`make screenshots`: the main pages of the running demo, in both themes, into docs/screenshots.

Run `make run` in another terminal first: its var/demo.json says where it is and how to sign in.
"""

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from PIL import Image
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.browser.conftest import CHROMIUM

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs/screenshots"
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
DESK, PHONE = (1280, 800), (360, 740)
HEAVIEST = 200_000  # bytes
PAGES = [
    ("home", "/", DESK),
    ("overview", "/cabinet/", DESK),
    ("overview-phone", "/cabinet/", PHONE),
    ("messages", "/cabinet/messages", DESK),
    ("message", "main tbody tr a", DESK),  # the first of the list
    ("test-phone", "/cabinet/test-phone", DESK),
    ("balance", "/cabinet/balance", DESK),
    ("webhooks", "/cabinet/webhooks", DESK),
    ("keys", "/cabinet/keys", DESK),
    ("docs", "/docs/send-code", DESK),
]


def main() -> None:
    demo = json.loads((ROOT / "var/demo.json").read_text(encoding="utf-8"))
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        state = signed_in(browser, demo)
        for theme in THEMES:
            context = browser.new_context(
                base_url=origin(demo), storage_state=state, color_scheme=theme, locale="ru-RU"
            )
            for name, picture in pictures(context):
                save(FOLDER / f"{name}-{theme}.png", picture)
            context.close()
        browser.close()


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


def pictures(context: BrowserContext) -> Iterator[tuple[str, bytes]]:
    page = context.new_page()
    for name, where, (width, height) in PAGES:
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
    """With a palette of 256 colours, which the pages do not exceed by much."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    image.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    size = path.stat().st_size
    if size > HEAVIEST:
        sys.exit(f"{path.name} weighs {size} bytes")
    sys.stdout.write(f"{path.relative_to(ROOT)} {size // 1024} KB\n")


if __name__ == "__main__":
    main()
