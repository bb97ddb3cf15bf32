"""A company's first day, in a browser and by HTTP, on the whole service."""

import re
from collections.abc import Iterator
from uuid import uuid4

import pytest
from django.db import connections
from playwright.sync_api import Page, expect

from accounts.models import Company
from tests.browser.conftest import chromium, visitor
from tests.factories import PackageFactory
from tests.stack.programs import wait_until
from tests.stack.sender import Sender
from tests.stack.stack import Stack

NAME = "ООО Первый день"
PASSWORD = "a long enough passphrase"
TOKENS = 1_000


@pytest.fixture
def page(stack: Stack) -> Iterator[Page]:
    """A page, closed before the stack is judged: the browser's event loop has connections."""
    with chromium() as browser, visitor(browser) as page:
        page.set_default_timeout(10_000)
        package = PackageFactory.create(tokens=TOKENS)
        yield page
        package.delete()
        connections.close_all()


def sign_up(page: Page, stack: Stack, name: str = NAME) -> Company:
    page.goto(stack.url)
    page.get_by_role("link", name="Создать учётную запись").click()
    page.get_by_label("Адрес электронной почты").fill(f"{uuid4().hex}@example.com")
    page.get_by_label("Название компании").fill(name)
    page.get_by_label("Пароль", exact=True).fill(PASSWORD)
    page.locator("main form button[type=submit]").click()
    expect(page.get_by_role("heading", name="Обзор")).to_be_visible()
    company = Company.objects.get(name=name)
    company.status = Company.Status.APPROVED  # by the operator
    company.save()
    return company


def top_up(page: Page) -> None:
    page.locator("#sidebar").get_by_role("link", name="Баланс").click()
    page.get_by_label("Пробная оплата").check()
    page.get_by_role("button", name="Перейти к оплате").click()
    page.get_by_role("link", name="Оплатить").click()
    page.locator("button[value=pay]").click()
    expect(page.locator("main .state")).to_have_text("оплачено")
    page.get_by_role("link", name="Вернуться в кабинет").click()


def make_key(page: Page) -> str:
    page.locator("#sidebar").get_by_role("link", name="API-ключи").click()
    page.get_by_role("link", name="Создать ключ").first.click()
    page.get_by_label("Название").fill("сервер")
    page.get_by_label(re.compile("^Боевой")).check()
    page.get_by_role("button", name="Создать ключ").click()
    page.get_by_label("Пароль").fill(PASSWORD)
    page.get_by_role("button", name="Подтвердить").click()
    page.get_by_role("button", name="Создать ключ").click()
    key = page.locator("#new-key").inner_text()
    page.get_by_role("link", name="Ключ сохранён").click()
    return key


def test_from_sign_up_to_the_statement(stack: Stack, page: Page) -> None:
    company = sign_up(page, stack)
    top_up(page)
    sender = Sender(stack.url, company, make_key(page))
    phone = stack.phone()
    stack.carrier.set_fault("late_receipt", phone=phone, latency_ms=5000)

    sent = sender.send_code(phone, channel="whatsapp").json()
    assert (sent["success"], sender.balance()) == (True, (TOKENS - 1, 1))

    page.locator("#sidebar").get_by_role("link", name="Сообщения").click()
    page.locator("main tbody tr a").first.click()
    expect(page.get_by_role("heading", name=phone)).to_be_visible()
    state = page.locator("main .state").first
    expect(state).to_have_text("отправлено")
    expect(state).to_have_text("доставлено")  # nobody reloads the page

    code = stack.carrier.message(phone)["code"]
    assert sender.verify(phone, code).json()["success"] is True
    wait_until(lambda: sender.balance() == (TOKENS - 1, 0))
    page.reload()
    expect(page.locator("main")).to_contain_text("Код введён верно")

    page.locator("#sidebar").get_by_role("link", name="Баланс").click()
    page.get_by_role("link", name="Выписка", exact=True).click()
    rows = page.locator("#statement tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text("999")
    expect(rows.last).to_contain_text("+1\u00a0000")
