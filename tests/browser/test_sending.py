"""A code, a link and a test code are sent from the cabinet."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from billing.wallet import ledger
from channels.models import Message
from otp.models import Verification
from tests.browser.clicks import ClickCounter
from tests.browser.signing_in import sign_in
from tests.otp.sent_codes import code_of

PHONE = "+79161234567"
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("queued_at_once")]


def test_first_code_needs_at_most_six_clicks(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    ledger.grant(company=member.company, amount=100, reason="test")
    clicks = ClickCounter(page)

    page.get_by_role("link", name="Отправить прямо отсюда").click()
    page.get_by_label("Телефон", exact=True).fill("8 916 123-45-67")
    page.get_by_role("button", name="Отправить код").click()
    expect(page.get_by_role("heading", name=PHONE)).to_be_visible()
    page.get_by_label("Код из сообщения").fill(code_of(PHONE))
    page.get_by_role("button", name="Проверить код").click()

    expect(page.get_by_role("heading", name="Номер подтверждён")).to_be_visible()
    assert Verification.objects.get().verified_at
    assert clicks.count() <= 6


def test_link_is_sent_from_the_list_of_messages(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    ledger.grant(company=member.company, amount=100, reason="test")

    page.get_by_role("link", name="Сообщения", exact=True).click()
    page.get_by_role("link", name="Отправить сообщение").click()
    page.get_by_role("link", name="Короткая ссылка", exact=True).click()
    page.get_by_label("Телефон", exact=True).fill(PHONE)
    page.get_by_label("Куда ведёт").fill("https://example.com/order")
    page.get_by_label("Канал").select_option("sms")
    page.get_by_text("Ещё", exact=True).click()
    page.get_by_label("Язык сообщения").select_option("en")
    page.get_by_role("button", name="Отправить ссылку").click()

    expect(page.get_by_text("нет: отправлено из кабинета")).to_be_visible()
    message = Message.objects.get()
    assert (message.channel, message.locale, message.kind) == ("sms", "en", "link")


def test_test_code_is_inserted_into_its_field(page: Page, live_server: LiveServer) -> None:
    sign_in(page, live_server)
    page.goto(f"{live_server.url}/cabinet/send")
    page.get_by_label("Телефон", exact=True).fill(PHONE)
    expect(page.get_by_label("Тестовый: бесплатно")).to_be_checked()  # there are no tokens
    page.get_by_role("button", name="Отправить код").click()

    page.get_by_label("Код из сообщения").fill("0000")
    page.get_by_role("button", name="Проверить код").click()
    expect(page.get_by_text("Осталось попыток: 4")).to_be_visible()
    page.get_by_role("button", name="Подставить").click()
    page.get_by_role("button", name="Проверить код").click()

    expect(page.get_by_role("link", name="Как это сделать")).to_be_visible()
