"""The operator announces an incident, companies read it, and the status page shows it."""

import pytest
from playwright.sync_api import Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from channels.models import ProviderAccount
from operator_admin.incidents import timeline
from operator_admin.models import Incident
from operator_admin.status import summary
from tests.browser.operators import enter
from tests.browser.page_audit import AXE, FIND_OVERFLOW, RULES, RUN_AXE, THEMES, Theme
from tests.factories import PASSWORD, MemberFactory, UserFactory

pytestmark = pytest.mark.django_db(transaction=True)
WIDTHS = (320, 768, 1280)


@pytest.fixture(autouse=True)
def no_factor(settings: Settings) -> None:
    settings.OPERATOR_MFA = False


def test_channel_is_paused_announced_and_resolved(page: Page, live_server: LiveServer) -> None:
    enter(page, live_server)

    page.get_by_role("link", name="Инциденты").click()
    page.get_by_role("link", name="SMS").first.click()
    page.get_by_label("Почему приостановлен?").fill("провайдер не отвечает")
    page.get_by_role("button", name="Приостановить канал").click()
    expect(page.get_by_text("Канал приостановлен.")).to_be_visible()
    assert not ProviderAccount.objects.get(name="twilio").is_enabled

    page.get_by_role("link", name="Сообщить компаниям").click()
    expect(page.get_by_label("Заголовок (Русский)")).to_have_value("SMS: сообщения не доставляются")
    page.get_by_role("button", name="Показать объявление").click()
    expect(page.get_by_text("Компании увидят объявление")).to_be_visible()

    page.get_by_label("Состояние").select_option("monitoring")
    page.get_by_role("button", name="Добавить").click()
    expect(page.get_by_text("Работа восстановлена.").first).to_be_visible()
    page.get_by_role("button", name="Закрыть инцидент").click()
    expect(page.get_by_text("Инцидент закрыт: объявление исчезнет")).to_be_visible()
    assert Incident.objects.get().resolved_at

    page.goto(f"{live_server.url}/admin/incidents/channels/sms/")
    page.get_by_role("button", name="Возобновить канал").click()
    expect(page.get_by_text("Канал снова в работе.")).to_be_visible()
    assert ProviderAccount.objects.get(name="twilio").is_enabled


def test_account_is_switched_off_with_a_reason(page: Page, live_server: LiveServer) -> None:
    enter(page, live_server)
    page.goto(f"{live_server.url}/admin/providers/")
    section = page.get_by_role("region", name="Twilio")

    section.get_by_label("Почему выключается?").fill("нет денег")
    section.get_by_role("button", name="Выключить").click()
    expect(section.get_by_text("нет денег")).to_be_visible()
    section.get_by_role("button", name="Включить").click()

    expect(section.get_by_role("button", name="Выключить")).to_be_visible()


def test_company_hides_a_notice(page: Page, live_server: LiveServer) -> None:
    text = {"ru": "Перебои с СМС", "en": "SMS is slow"}
    timeline.open_incident(
        titles=text, text=text, impact="degraded", user=UserFactory.create(), ip=None
    )
    member = MemberFactory.create()
    page.goto(f"{live_server.url}/cabinet/")
    page.get_by_label("Адрес электронной почты").fill(member.user.email)
    page.get_by_label("Пароль", exact=True).fill(PASSWORD)
    page.locator("main form button[type=submit]").click()

    expect(page.get_by_role("heading", name="Перебои с СМС")).to_be_visible()
    page.goto(f"{live_server.url}/cabinet/keys/new")
    page.get_by_label("Название").fill("сервер")
    page.get_by_role("button", name="Скрыть").click()

    expect(page.get_by_role("heading", name="Перебои с СМС")).to_have_count(0)
    expect(page.get_by_label("Название")).to_have_value("сервер")
    page.reload()
    expect(page.get_by_role("heading", name="Перебои с СМС")).to_have_count(0)


@pytest.mark.parametrize("theme", THEMES)
def test_status_page_breaks_no_rule_and_fits_the_screen(
    page: Page, live_server: LiveServer, theme: Theme
) -> None:
    text = {"ru": "Сбой", "en": "A failure"}
    timeline.open_incident(
        titles=text, text=text, impact="outage", channel="sms", user=UserFactory.create(), ip=None
    )
    summary.reset()
    page.emulate_media(color_scheme=theme)

    page.goto(f"{live_server.url}/status")
    page.get_by_text("По дням").first.click()

    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(FIND_OVERFLOW) == []
    page.evaluate(AXE)
    assert page.evaluate(RUN_AXE, [RULES, False]) == []
