"""The operator's everyday work in the admin."""

from collections.abc import Iterator

import pytest
import responses
from playwright.sync_api import Browser, Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from accounts.models import Mail
from billing.wallet import ledger
from channels.deliver.dispatcher import Dispatcher
from channels.models import Message, ProviderAccount
from tests.browser.clicks import ClickCounter
from tests.browser.operators import enter, prove
from tests.browser.page_audit import AXE, RULES, RUN_AXE, THEMES, Theme
from tests.channels.accounts import open_breaker
from tests.factories import PASSWORD, CompanyFactory, MemberFactory, MessageFactory
from tests.operator_admin.operators import make_operator

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def second_factor(settings: Settings) -> None:
    settings.OPERATOR_MFA = True


@pytest.fixture
def vendor(settings: Settings) -> Iterator[None]:
    twilio = settings.PROVIDER_ACCOUNTS["twilio"]
    url = f"{twilio['api_url']}/2010-04-01/Accounts/{twilio['account_sid']}/Messages.json"
    with responses.RequestsMock(assert_all_requests_are_fired=False) as wire:
        wire.post(url, json={"sid": "SM1", "status": "queued"}, status=201)
        yield


@pytest.fixture
def account(settings: Settings) -> Iterator[None]:
    """A trial account with Twilio."""
    twilio = settings.PROVIDER_ACCOUNTS["twilio"]
    url = f"{twilio['api_url']}/2010-04-01/Accounts/{twilio['account_sid']}"
    ours = {"phone_number": twilio["sender"], "capabilities": {"sms": True}}
    sid = twilio["account_sid"]
    with responses.RequestsMock(assert_all_requests_are_fired=False) as wire:
        wire.get(f"{url}.json", json={"sid": sid, "status": "active", "type": "Trial"})
        wire.get(f"{url}/Balance.json", json={"balance": "15.50", "currency": "USD"})
        wire.get(f"{url}/IncomingPhoneNumbers.json", json={"incoming_phone_numbers": [ours]})
        yield


def test_company_is_approved_after_reauthentication(page: Page, live_server: LiveServer) -> None:
    member = MemberFactory.create(company__status="pending", company__name="Ромашка")
    enter(page, live_server)

    page.get_by_role("link", name="Компании на одобрение").click()
    page.get_by_role("link", name="Ромашка").click()
    page.get_by_role("link", name="Одобрить").click()
    prove(page)
    page.get_by_label("Причина").fill("договор подписан")
    page.get_by_role("button", name="Одобрить").click()

    expect(page.get_by_text("Изменена 1 компания")).to_be_visible()
    member.company.refresh_from_db()
    assert member.company.status == "approved"
    assert Mail.objects.filter(to=member.user.email, template="company_approved").exists()


def test_company_is_approved_and_given_tokens_in_four_clicks(
    page: Page, live_server: LiveServer, settings: Settings
) -> None:
    settings.OPERATOR_MFA = False  # the proof of the second factor is not part of the task
    member = MemberFactory.create(company__status="pending", company__name="Ромашка")
    enter(page, live_server)
    clicks = ClickCounter(page)

    page.get_by_role("link", name="Проверить и одобрить").click()
    expect(page.get_by_text("Реквизиты: —")).to_be_visible()
    page.get_by_label("Причина").fill("договор подписан")
    page.get_by_label("Начислить токенов").fill("500")
    page.get_by_role("button", name="Одобрить").click()

    expect(page.get_by_text("Изменена 1 компания")).to_be_visible()
    assert clicks.count() <= 4
    member.company.refresh_from_db()
    assert member.company.status == "approved"
    assert ledger.balance(member.company_id) == (500, 0)

    page.get_by_label("Заметка для других операторов").fill("звонили, всё в порядке")
    page.get_by_role("button", name="Сохранить заметку").click()
    expect(page.get_by_text("звонили, всё в порядке")).to_be_visible()


def test_message_is_found_by_a_phone_as_it_was_dictated(
    page: Page, live_server: LiveServer
) -> None:
    message = MessageFactory.create(phone="+79161234567")
    MessageFactory.create(phone="+79261234567")
    enter(page, live_server)

    page.get_by_role("navigation", name="Меню админки").get_by_role(
        "link", name="Сообщения"
    ).click()
    page.locator("#searchbar").fill("8 (916) 123-45-67")
    page.get_by_role("button", name="Найти").click()
    page.locator("#result_list tbody th a").click()

    expect(page.get_by_role("heading", name="Что произошло")).to_be_visible()
    expect(page.get_by_text(message.public_id).first).to_be_visible()


def test_person_is_exported_and_erased(page: Page, live_server: LiveServer) -> None:
    message = MessageFactory.create(phone="+79161234567", state="delivered")
    enter(page, live_server)

    page.get_by_role("link", name="Персональные данные").click()
    prove(page)
    page.get_by_label("Телефон").fill("8 916 123-45-67")
    with page.expect_download() as download:
        page.get_by_role("button", name="Скачать в JSON").click()
    page.get_by_role("button", name="Удалить…").click()
    page.get_by_role("button", name="Удалить навсегда").click()

    expect(page.get_by_text("Всё об этом номере удалено.")).to_be_visible()
    assert message.public_id in download.value.path().read_text()
    message.refresh_from_db()
    assert message.phone == "+7916*"


@pytest.mark.usefixtures("vendor")
def test_test_message_is_sent_and_its_status_shown(
    page: Page, live_server: LiveServer, dispatcher: Dispatcher
) -> None:
    enter(page, live_server)

    page.get_by_role("link", name="Провайдеры").click()
    page.locator("section", has_text="Twilio").get_by_role(
        "link", name="Отправить проверочное сообщение"
    ).click()
    page.get_by_label("Ваш телефон").fill("8 916 123-45-67")
    page.get_by_role("button", name="Отправить").click()

    expect(page.get_by_text("Отправлено. Ниже видно")).to_be_visible()
    assert Message.objects.get().phone == "+79161234567"


@pytest.mark.usefixtures("account")
def test_vendors_page_copies_tests_and_leads_to_a_trial(
    page: Page, live_server: LiveServer, settings: Settings
) -> None:
    enter(page, live_server)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])

    page.get_by_role("link", name="Провайдеры").click()
    page.locator("section", has_text="Twilio").get_by_role(
        "link", name="Настройка и проверка"
    ).click()
    expect(page.get_by_role("heading", name="Что и где заполнить")).to_be_visible()
    page.get_by_role("button", name="Копировать").first.click()
    expect(page.get_by_role("button", name="Скопировано")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    page.get_by_role("button", name="Проверить подключение").click()

    expect(page.get_by_text("аккаунт не пробный")).to_be_visible()
    expect(page.get_by_text("Переведите аккаунт на платный: пробный").first).to_be_visible()
    assert copied == f"{settings.PUBLIC_URL}/hooks/twilio"
    page.get_by_role("link", name="Отправить на мой телефон").click()
    expect(page.get_by_label("Ваш телефон")).to_be_visible()


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.usefixtures("account")
def test_vendors_page_breaks_no_rule_of_accessibility(
    page: Page, live_server: LiveServer, theme: Theme
) -> None:
    page.emulate_media(color_scheme=theme)
    enter(page, live_server)

    page.goto(f"{live_server.url}/admin/providers/twilio/")
    page.get_by_role("button", name="Проверить подключение").click()
    expect(page.get_by_text("аккаунт не пробный")).to_be_visible()

    page.evaluate(AXE)
    assert page.evaluate(RUN_AXE, [RULES, False]) == []


def test_doctor_s_findings_fit_a_phone_s_width(page: Page, live_server: LiveServer) -> None:
    enter(page, live_server)
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(f"{live_server.url}/admin/system/")

    result = page.locator("tbody td:last-child").first.bounding_box()

    assert result is not None
    assert result["width"] > 250  # below the name of the check, not next to it


def test_list_of_companies_shows_every_column(page: Page, live_server: LiveServer) -> None:
    CompanyFactory.create(name="Акционерное общество «Северные торговые ряды»")
    page.set_viewport_size({"width": 1280, "height": 800})
    enter(page, live_server)

    page.get_by_role("navigation").get_by_role("link", name="Компании").click()

    results = page.locator("#changelist .results")
    assert results.evaluate("list => list.scrollWidth - list.clientWidth") == 0
    expect(page.get_by_role("link", name="приостановлена")).to_be_visible()


def test_vendors_page_works_without_javascript(
    page: Page, browser: Browser, live_server: LiveServer, account: None
) -> None:
    enter(page, live_server)
    context = browser.new_context(
        java_script_enabled=False, storage_state=page.context.storage_state(), locale="ru-RU"
    )
    plain = context.new_page()

    plain.goto(f"{live_server.url}/admin/providers/twilio/")
    expect(plain.get_by_role("button", name="Копировать")).to_have_count(0)
    plain.get_by_role("button", name="Проверить подключение").click()

    expect(plain.get_by_text("аккаунт не пробный")).to_be_visible()
    context.close()


def test_operator_without_a_second_factor_sets_it_up_first(
    page: Page, live_server: LiveServer
) -> None:
    operator = make_operator(has_factor=False)
    page.goto(f"{live_server.url}/admin/channels/message/")
    page.get_by_label("Адрес электронной почты").fill(operator.email)
    page.get_by_label("Пароль", exact=True).fill(PASSWORD)
    page.locator("main form button[type=submit]").click()

    expect(page.get_by_text("Админка открывается только со вторым фактором").first).to_be_visible()


def test_tokens_are_given_to_a_company_found_by_its_name(
    page: Page, live_server: LiveServer
) -> None:
    company = CompanyFactory.create(name="Ромашка")
    enter(page, live_server)

    page.goto(f"{live_server.url}/admin/billing/wallet/adjust/")
    prove(page)
    page.get_by_label("Компания: часть").fill("ромаш")
    page.get_by_role("button", name="Найти").click()
    page.get_by_role("link", name="Ромашка").click()
    page.get_by_label("Токенов").fill("1 900")
    page.get_by_label("Причина").fill("по договору")
    page.get_by_role("button", name="Проверить и продолжить").click()
    expect(page.get_by_text("Станет доступно")).to_be_visible()
    page.get_by_role("button", name="Назад").click()
    expect(page.get_by_label("Токенов")).to_have_value("1 900")
    page.get_by_role("button", name="Проверить и продолжить").click()
    expect(page.get_by_text("Станет доступно")).to_be_visible()
    assert ledger.balance(company.pk) == (0, 0)
    page.get_by_role("button", name="Начислить токены").dblclick()

    # The page of the first click, which the second cuts short, may have taken the notice along.
    expect(page.get_by_role("heading", name="1900 + 0")).to_be_visible()
    assert ledger.balance(company.pk) == (1900, 0)


def test_breaker_of_an_account_is_closed_by_hand(page: Page, live_server: LiveServer) -> None:
    open_breaker("twilio")
    enter(page, live_server)
    page.get_by_role("link", name="Провайдеры").first.click()

    page.get_by_role("button", name="Снять автоотключение").click()

    expect(page.get_by_role("button", name="Снять автоотключение")).to_have_count(0)
    assert ProviderAccount.objects.get(name="twilio").open_until is None
