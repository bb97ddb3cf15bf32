"""Looks for faults of a page of the operator."""

from playwright.sync_api import Page

from tests.browser.page_audit import AXE, FIND_OVERFLOW, RULES, RUN_AXE

WIDTHS = (320, 640, 768, 1024, 1280)  # 640: 1280 at a zoom of 200 %
# Fields at the very edge of their card: the page lacks the style of forms.
FIND_BARE_FIELDS = """() => [...document.querySelectorAll("#content .form-row")]
    .filter((row) => row.checkVisibility() && getComputedStyle(row).paddingLeft === "0px")
    .map((row) => `no padding: ${row.outerHTML.slice(0, 120)}`)"""


def faults_of(page: Page, url: str) -> list[str]:
    response = page.goto(url)
    assert response is not None
    faults = [] if response.status == 200 else [f"answers {response.status}"]
    page.evaluate(AXE)
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        result = [*page.evaluate(FIND_OVERFLOW), *page.evaluate(FIND_BARE_FIELDS)]
        result += page.evaluate(RUN_AXE, [RULES, False])
        faults += [f"at {width}: {fault}" for fault in result]
    return faults
