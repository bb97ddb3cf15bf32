from playwright.sync_api import Page

_COUNT = """
addEventListener('click', event => {
  if (event.isTrusted) sessionStorage.clicks = Number(sessionStorage.clicks || 0) + 1
}, true)
"""


class ClickCounter:
    """Counts from now on; an Enter that sends a form counts as one, too."""

    def __init__(self, page: Page) -> None:
        self._page = page
        page.add_init_script(_COUNT)
        page.reload()

    def count(self) -> int:
        return int(self._page.evaluate("Number(sessionStorage.clicks || 0)"))
