"""Presses a button twice, and counts the clicks."""

from playwright.sync_api import Locator, Page

_COUNT = """
addEventListener('click', event => {
  if (event.isTrusted) sessionStorage.clicks = Number(sessionStorage.clicks || 0) + 1
}, true)
"""


class ClickCounter:
    """Counts clicks from its creation on, including an Enter that sends a form."""

    def __init__(self, page: Page) -> None:
        self._page = page
        page.add_init_script(_COUNT)
        page.reload()

    def count(self) -> int:
        return int(self._page.evaluate("Number(sessionStorage.clicks || 0)"))


def press_twice(button: Locator) -> None:
    """Clicks twice quickly, before the server has answered the first click."""
    page = button.page
    slow = {"offline": False, "latency": 300, "downloadThroughput": -1, "uploadThroughput": -1}
    page.context.new_cdp_session(page).send("Network.emulateNetworkConditions", slow)
    button.scroll_into_view_if_needed()
    box = button.bounding_box()
    assert box is not None
    for _ in range(2):
        page.mouse.click(box["x"] + 9, box["y"] + 9)
        page.wait_for_timeout(120)
