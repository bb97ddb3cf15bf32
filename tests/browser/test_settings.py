"""Settings by sections: what is typed is neither lost nor overwritten unseen."""

import pytest
from playwright.sync_api import Browser, Dialog, Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.people import companies
from tests.browser.conftest import visitor
from tests.browser.page_audit import AXE, RULES, RUN_AXE
from tests.browser.signing_in import confirm, sign_in
from tests.factories import MemberFactory

pytestmark = pytest.mark.django_db(transaction=True)


def test_saving_a_section_keeps_what_is_typed_in_another(
    page: Page, live_server: LiveServer
) -> None:
    company = sign_in(page, live_server).company
    page.goto(f"{live_server.url}/cabinet/settings")
    page.get_by_label("Бренд в сообщениях").fill("Лавка")
    page.get_by_label("Пауза, секунд").fill("90")

    page.get_by_role("button", name="Сохранить : Лимиты отправки").click()

    expect(page.locator("#limits [data-saved]")).to_have_text("Сохранено.")
    expect(page.get_by_label("Бренд в сообщениях")).to_have_value("Лавка")
    company.refresh_from_db()
    assert (company.cool_down, company.brand) == (90, "")
    page.get_by_role("button", name="Сохранить : Компания").click()
    expect(page.locator("#company [data-saved]")).to_be_visible()
    company.refresh_from_db()
    assert (company.cool_down, company.brand) == (90, "Лавка")


def test_leaving_with_unsaved_changes_asks(page: Page, live_server: LiveServer) -> None:
    sign_in(page, live_server)
    page.goto(f"{live_server.url}/cabinet/settings")
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page.on("dialog", stay)
    page.get_by_label("Цифр в коде").fill("5")
    page.get_by_label("Цифр в коде").press("Tab")

    page.get_by_role("link", name="Обзор").click()

    expect(page.get_by_role("heading", name="Обзор")).to_be_visible()
    assert asked == ["beforeunload"]
    page.goto(f"{live_server.url}/cabinet/settings")
    page.get_by_role("link", name="Обзор").click()
    assert asked == ["beforeunload"]


def test_page_asks_before_losing_a_filled_form(page: Page, live_server: LiveServer) -> None:
    user = sign_in(page, live_server).user
    other = MemberFactory.create(user=user).company
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    page.goto(f"{live_server.url}/cabinet/keys/new")
    name = page.get_by_label("Название")
    name.fill("сервер")

    page.get_by_role("button", name="English").click()
    page.locator(".company-menu summary").click()
    page.get_by_role("button", name=other.name).click()
    page.get_by_role("button", name="Выйти").click()
    page.get_by_role("link", name="Вебхуки").click()

    expect(name).to_have_value("сервер")
    assert asked == ["beforeunload"] * 4
    page.locator("main").get_by_role("link", name="Отмена").click()
    expect(page.get_by_role("heading", name="API-ключи")).to_be_visible()
    assert len(asked) == 4


def test_countries_are_found_picked_and_saved(page: Page, live_server: LiveServer) -> None:
    company = sign_in(page, live_server).company
    page.goto(f"{live_server.url}/cabinet/settings")
    countries = page.locator("#countries")

    countries.get_by_label("Найти страну").fill("герм")
    countries.get_by_label("Германия").check()
    countries.get_by_label("Найти страну").fill("+998")
    countries.get_by_label("Узбекистан").check()
    countries.get_by_label("Найти страну").fill("нет такой")
    expect(countries.get_by_text("Такой страны нет.")).to_be_visible()
    countries.get_by_label("Найти страну").fill("")
    countries.get_by_role("button", name="+ ЕАЭС").click()
    expect(countries.get_by_text("Выбрано:")).to_contain_text("Германия")
    countries.get_by_label("Добавить списком").fill("fi, Эстония")
    page.get_by_role("button", name="Сохранить : Разрешённые страны").click()

    expect(countries.locator("[data-saved]")).to_be_visible()
    company.refresh_from_db()
    assert company.allowed_countries == ["AM", "BY", "DE", "EE", "FI", "KG", "KZ", "RU", "UZ"]
    countries.get_by_role("button", name="Снять все отметки").click()
    page.get_by_role("button", name="Сохранить : Разрешённые страны").click()
    expect(countries.locator("[data-saved]")).to_be_visible()
    company.refresh_from_db()
    assert company.allowed_countries == []


def test_groups_of_countries_work_without_javascript(
    browser: Browser, live_server: LiveServer
) -> None:
    context = browser.new_context(java_script_enabled=False, locale="ru-RU")
    page = context.new_page()
    company = sign_in(page, live_server).company
    page.goto(f"{live_server.url}/cabinet/settings")

    page.get_by_role("button", name="+ СНГ").click()

    expect(page.get_by_text("Ещё не сохранено")).to_be_visible()
    page.get_by_role("button", name="Сохранить : Разрешённые страны").click()
    expect(page.locator("#countries [data-saved]")).to_be_visible()
    context.close()
    company.refresh_from_db()
    assert len(company.allowed_countries) == 10


def test_second_to_save_sees_what_the_first_has_saved(page: Page, live_server: LiveServer) -> None:
    company = sign_in(page, live_server).company
    colleague = MemberFactory.create(company=company, role="developer").user
    page.goto(f"{live_server.url}/cabinet/settings")
    companies.change_settings(company=company, user=colleague, changes={"code_length": 8})
    page.get_by_label("Цифр в коде").fill("5")

    page.get_by_role("button", name="Сохранить : Коды").click()

    expect(page.get_by_role("alert").filter(has_text=colleague.email)).to_be_visible()
    page.get_by_role("button", name="Сохранить : Коды").click()
    expect(page.locator("#codes [data-saved]")).to_be_visible()
    company.refresh_from_db()
    assert company.code_length == 5


def test_history_of_a_section_shows_old_and_new(page: Page, live_server: LiveServer) -> None:
    company = sign_in(page, live_server).company
    page.goto(f"{live_server.url}/cabinet/settings")
    page.get_by_label("Страна", exact=True).select_option("KZ")
    page.get_by_role("button", name="Сохранить : Компания").click()
    confirm(page)  # prices follow the country
    page.get_by_role("button", name="Сохранить : Компания").click()
    expect(page.locator("#company [data-saved]")).to_be_visible()

    page.get_by_role("link", name="История : Компания").click()

    expect(page.get_by_text("Страна: Россия")).to_contain_text("Казахстан")
    page.wait_for_load_state()  # a filter acts by script
    page.get_by_label("О чём").select_option("keys")
    expect(page.get_by_text("Под этот фильтр не подходит ни одно изменение.")).to_be_visible()
    page.get_by_role("link", name="Сбросить фильтр").click()
    page.get_by_label("Кто").fill("nobody@")
    page.get_by_role("button", name="Показать").click()
    expect(page.get_by_text("Под этот фильтр не подходит ни одно изменение.")).to_be_visible()
    page.get_by_role("link", name="Сбросить", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Скачать CSV").click()
    assert "Россия → Казахстан" in download.value.path().read_text(encoding="utf-8-sig")
    assert company.audit.filter(action="audit.exported").exists()


def test_settings_fit_a_phone(browser: Browser, live_server: LiveServer) -> None:
    with visitor(browser) as page:
        page.set_viewport_size({"width": 320, "height": 740})
        sign_in(page, live_server)
        page.goto(f"{live_server.url}/cabinet/settings")
        page.locator("#countries details").first.locator("summary").click()
        assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_phone_tabs_open_from_one_line(browser: Browser, live_server: LiveServer) -> None:
    with visitor(browser) as page:
        page.set_viewport_size({"width": 360, "height": 740})
        sign_in(page, live_server)
        page.goto(f"{live_server.url}/cabinet/policy")
        tabs = page.get_by_role("navigation", name="Разделы")
        assert tabs.evaluate("one => one.getBoundingClientRect().height") < 60
        expect(tabs.get_by_role("link")).to_have_count(0)

        tabs.locator("summary").press("Enter")
        expect(tabs.get_by_role("link", name="Политика")).to_have_attribute("aria-current", "page")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        page.evaluate(AXE)
        assert page.evaluate(RUN_AXE, [RULES, False]) == []
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")

        expect(page.get_by_role("heading", name="Настройки", level=1)).to_be_visible()
        expect(page.locator(".tabs summary")).to_have_text("Раздел: Сообщения и лимиты")
