"""The cabinet's search, by keyboard, by pointer and on a phone."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import Member
from tests.browser.signing_in import enter
from tests.browser.signing_in import sign_in as sign_in_quickly
from tests.factories import ApiKeyFactory, MemberFactory, MessageFactory

pytestmark = pytest.mark.django_db(transaction=True)


def sign_in(page: Page, live_server: LiveServer) -> Member:
    member = sign_in_quickly(page, live_server)
    page.wait_for_load_state()  # the scripts run after the page is shown
    return member


def box(page: Page) -> Locator:
    return page.get_by_role("combobox", name="Поиск по кабинету")


def test_slash_focuses_the_box_and_arrows_choose(page: Page, live_server: LiveServer) -> None:
    sign_in(page, live_server)
    page.keyboard.press("/")
    expect(box(page)).to_be_focused()
    expect(box(page)).to_have_value("")

    page.keyboard.type("вебхук")
    expect(page.get_by_role("option").first).to_be_visible()
    expect(page.get_by_role("option")).to_have_count(2)
    expect(box(page)).to_have_attribute("aria-expanded", "true")
    expect(page.locator("[data-search-status]")).to_have_text("2 результата")
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("option").last).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    first = page.get_by_role("option").first
    expect(first).to_have_attribute("aria-selected", "true")
    expect(box(page)).to_have_attribute("aria-activedescendant", str(first.get_attribute("id")))

    page.keyboard.press("Escape")
    expect(first).to_be_hidden()
    expect(box(page)).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Вебхуки")).to_be_visible()


def test_exact_id_opens_its_page_and_others_a_page_of_results(
    page: Page, live_server: LiveServer
) -> None:
    member = sign_in(page, live_server)
    message = MessageFactory.create(company=member.company)
    box(page).fill(message.public_id)
    box(page).press("Enter")
    expect(page).to_have_url(re.compile(message.public_id))

    box(page).fill("нет такого")
    expect(page.locator("[data-search-status]")).to_have_text("Ничего не найдено")
    box(page).press("Enter")
    expect(page.get_by_text("По запросу «нет такого» ничего не найдено")).to_be_visible()
    expect(box(page)).to_have_value("нет такого")


def test_hit_is_opened_by_pointer_and_leads_to_the_row(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    ApiKeyFactory.create(company=member.company, name="Склад")
    box(page).fill("склад")
    page.get_by_role("option", name="Склад").click()

    expect(page.locator("tr:target")).to_contain_text("Склад")


def test_phone_has_a_button_instead(page: Page, live_server: LiveServer) -> None:
    sign_in(page, live_server)
    page.set_viewport_size({"width": 320, "height": 640})
    expect(box(page)).to_be_hidden()
    page.locator("header").get_by_role("link", name="Поиск").click()
    box(page).fill("цены")
    page.get_by_role("option", name="Баланс").click()
    expect(page.get_by_role("heading", name="Баланс", exact=True)).to_be_visible()
    page.wait_for_load_state()

    page.keyboard.press("/")
    expect(page).to_have_url(re.compile("/cabinet/search$"))


@pytest.mark.parametrize(
    ("keys", "heading"),
    [("gm", "Сообщения"), ("gl", "Короткие ссылки"), ("gk", "API-ключи"), ("gb", "Баланс")],
)
def test_sequences_open_pages(page: Page, live_server: LiveServer, keys: str, heading: str) -> None:
    sign_in(page, live_server)
    for key in keys:
        page.keyboard.press(key)
    expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
    page.wait_for_load_state()
    page.keyboard.press("g")
    page.keyboard.press("o")
    expect(page.get_by_role("heading", name="Обзор")).to_be_visible()


def test_n_opens_a_new_send(page: Page, live_server: LiveServer) -> None:
    sign_in(page, live_server)
    page.keyboard.press("n")
    expect(page).to_have_url(re.compile("/cabinet/send$"))


def test_shortcuts_keep_to_the_role(page: Page, live_server: LiveServer) -> None:
    accountant = MemberFactory.create(role=Member.Role.ACCOUNTANT)
    enter(page, live_server, accountant)
    page.wait_for_load_state()
    url = page.url
    for key in "gkn":
        page.keyboard.press(key)
    page.keyboard.press("?")

    expect(page.get_by_role("dialog")).to_be_visible()
    expect(page.get_by_role("dialog")).not_to_contain_text("API-ключи")
    assert page.url == url


def test_shortcuts_are_neither_typed_nor_modified(page: Page, live_server: LiveServer) -> None:
    sign_in(page, live_server)
    url = page.url
    box(page).focus()
    page.keyboard.type("?gmn/")
    expect(box(page)).to_have_value("?gmn/")
    expect(page.get_by_role("dialog")).to_be_hidden()

    page.locator("h1").click()
    for keys in ("Control+n", "Alt+n", "Meta+n", "Control+/"):
        page.evaluate(
            """([key, modifier]) => document.body.dispatchEvent(new KeyboardEvent(
                "keydown", {key, bubbles: true, cancelable: true, [modifier]: true}))""",
            [keys[-1], {"Control": "ctrlKey", "Alt": "altKey", "Meta": "metaKey"}[keys[:-2]]],
        )
    assert page.url == url
    expect(box(page)).not_to_be_focused()


@pytest.mark.parametrize(
    ("key", "code", "shift"), [(".", "Slash", False), ("/", "Digit7", True), ("/", "Slash", False)]
)
def test_search_key_is_found_on_other_layouts(
    page: Page, live_server: LiveServer, key: str, code: str, shift: bool
) -> None:
    """On a Russian keyboard the key of the slash writes a full stop; on a German one it is 7."""
    sign_in(page, live_server)
    _press(page, key, code, shift)
    expect(box(page)).to_be_focused()


def test_letters_are_found_on_a_russian_layout(page: Page, live_server: LiveServer) -> None:
    sign_in(page, live_server)
    _press(page, "п", "KeyG")
    _press(page, "ь", "KeyM")
    expect(page.get_by_role("heading", name="Сообщения")).to_be_visible()


def _press(page: Page, key: str, code: str, shift: bool = False) -> None:
    page.evaluate(
        """([key, code, shiftKey]) => document.body.dispatchEvent(new KeyboardEvent(
            "keydown", {key, code, shiftKey, bubbles: true, cancelable: true}))""",
        [key, code, shift],
    )


def test_list_of_shortcuts_is_a_dialog(page: Page, live_server: LiveServer) -> None:
    sign_in(page, live_server)
    page.get_by_role("button", name="Быстрые клавиши").click()
    dialog = page.get_by_role("dialog", name="Быстрые клавиши")
    expect(dialog).to_contain_text("Короткие ссылки")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()

    page.keyboard.press("?")
    expect(dialog).to_be_visible()
    dialog.get_by_role("button", name="Закрыть").click()
    expect(dialog).to_be_hidden()


def test_toast_is_announced_and_disappears_by_itself(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    page.clock.install()
    _save_settings(page, live_server)
    page.clock.run_for(500)
    toast = page.get_by_role("status").filter(has_text="Настройки сохранены")
    expect(toast).to_be_visible()

    toast.hover()
    page.clock.run_for(60_000)
    expect(toast).to_be_visible()
    page.mouse.move(5, 5)
    page.clock.run_for(60_000)
    expect(toast).to_be_hidden()
    assert member.company.name


def test_toast_is_closed_by_hand(page: Page, live_server: LiveServer) -> None:
    sign_in(page, live_server)
    _save_settings(page, live_server)
    toast = page.locator("[data-toast]")
    toast.get_by_role("button", name="Закрыть").click()
    expect(toast).to_have_count(0)
    expect(page.locator("#main")).to_be_focused()


def test_error_stays_until_it_is_closed(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    member.company.status = "pending"
    member.company.save()
    page.clock.install()
    page.goto(f"{live_server.url}/cabinet/links/new")
    page.clock.run_for(300_000)
    toast = page.get_by_role("alert").filter(has_text="одобрения")
    expect(toast).to_be_visible()

    page.locator("[data-toast] .btn-close").focus()
    page.keyboard.press("Escape")
    expect(toast).to_be_hidden()


def _save_settings(page: Page, live_server: LiveServer) -> None:
    page.goto(f"{live_server.url}/cabinet/balance")
    page.locator("form[action$='/balance/alert'] button").click()
