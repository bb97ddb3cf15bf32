"""The cabinet's list of links, by hand."""

from playwright.sync_api import Page, expect


def open_links(page: Page) -> None:
    page.get_by_role("link", name="Короткие ссылки").first.click()
    expect(page.get_by_role("heading", name="Короткие ссылки", level=1)).to_be_visible()
    page.wait_for_load_state()  # a filter acts by script


def press(page: Page, name: str) -> None:
    page.locator("main").get_by_role("button", name=name, exact=True).click()


def follow(page: Page, name: str) -> None:
    page.locator("main").get_by_role("link", name=name, exact=True).first.click()
