import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from channels.models import FallbackEvent, Message
from tests.browser.test_cabinet import sign_in
from tests.factories import AttemptFactory, MessageFactory

pytestmark = pytest.mark.django_db(transaction=True)


def test_chain_is_set_and_a_mistake_is_explained(page: Page, live_server: LiveServer) -> None:
    company = sign_in(page, live_server).company
    page.goto(f"{live_server.url}/cabinet/settings")
    page.get_by_label("Отправлять следующим каналом").check()
    for place, channel in (("Сначала", "whatsapp"), ("Затем", "telegram"), ("И ещё", "sms")):
        expect(page.get_by_label(place)).to_have_value(channel)
    for place in ("Затем", "И ещё"):
        page.get_by_label(place).select_option("")
    page.get_by_role("button", name="Сохранить : Каналы и запасные каналы").click()
    expect(page.get_by_text("Выберите хотя бы два канала.")).to_be_visible()

    page.get_by_label("Затем").select_option("sms")
    page.get_by_label("Секунд на WhatsApp").fill("20")
    page.get_by_label("Предел цены, токенов").fill("16")
    page.get_by_role("button", name="Сохранить : Каналы и запасные каналы").click()
    expect(page.locator("#channels [data-saved]")).to_be_visible()

    company.refresh_from_db()
    assert (company.falls_back, company.fallback_chain) == (True, ["whatsapp", "sms"])
    assert (company.patience, company.fallback_max_cost) == ({"whatsapp": 20}, 16)
    expect(page.get_by_label("Затем")).to_have_value("sms")


def test_message_shows_why_it_fell_back(page: Page, live_server: LiveServer) -> None:
    company = sign_in(page, live_server).company
    message: Message = MessageFactory.create(
        company=company, channel="sms", state="sent", price=16, hold=2, tries=2
    )
    AttemptFactory.create(message=message, channel="whatsapp", state="expired")
    FallbackEvent.objects.create(message=message, reason="patience", channel="sms")

    page.goto(f"{live_server.url}/cabinet/messages/{message.public_id}")

    expect(page.get_by_text("Не подтверждено вовремя — дальше через SMS")).to_be_visible()
