"""A company's deletion and the archive of its data."""

import re
from zipfile import ZipFile

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from accounts.people import planned_deletion
from accounts.tasks import make_files
from tests.browser.conftest import visitor
from tests.browser.operators import enter as enter_admin
from tests.browser.operators import prove
from tests.browser.signing_in import confirm, enter, sign_in
from tests.factories import MemberFactory, MessageFactory, WalletFactory

pytestmark = pytest.mark.django_db(transaction=True)


def test_company_is_deleted_and_kept(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    WalletFactory.create(company=member.company, available=1200)
    page.goto(f"{live_server.url}/cabinet/settings")
    page.locator("#deletion").get_by_role("link", name="Удалить компанию…").click()
    expect(page.get_by_text(re.compile(r"На балансе 1\s200 токенов"))).to_be_visible()
    page.get_by_role("link", name="Отмена").click()
    page.locator("#deletion").get_by_role("link", name="Удалить компанию…").click()

    page.get_by_label("Название компании").fill("другая")
    page.get_by_role("button", name="Удалить компанию").click()
    expect(page.get_by_text("Это не название компании.")).to_be_visible()
    page.get_by_label("Название компании").fill(member.company.name)
    page.get_by_role("button", name="Удалить компанию").click()
    confirm(page)
    page.get_by_role("button", name="Удалить компанию").click()

    expect(page.locator("#closing-notice")).to_be_visible()
    page.get_by_role("link", name="К настройкам").click()
    page.get_by_role("link", name="Сохранить или узнать, что произойдёт").click()
    page.locator("main .card").get_by_role("button", name="Сохранить компанию").click()
    expect(page.get_by_text("Компания сохранена: ничего не удаляется.")).to_be_visible()
    member.company.refresh_from_db()
    assert member.company.closes_at is None


def test_banner_on_any_page_keeps_the_company(
    page: Page, browser: Browser, live_server: LiveServer
) -> None:
    member = sign_in(page, live_server)
    planned_deletion.request(company=member.company, user=member.user)
    viewer = MemberFactory.create(company=member.company, role="viewer")
    with visitor(browser) as other:
        enter(other, live_server, viewer)
        expect(other.locator("#closing-notice")).to_contain_text("Сохранить её может владелец.")
        expect(other.locator("#closing-notice").get_by_role("button")).to_have_count(0)
    page.goto(f"{live_server.url}{reverse('key-list')}")

    page.locator("#closing-notice").get_by_role("button", name="Сохранить компанию").click()

    expect(page.get_by_text("Компания сохранена: ничего не удаляется.")).to_be_visible()
    expect(page.locator("#closing-notice")).to_have_count(0)


def test_operator_hastens_and_cancels_a_company_s_deletion(
    page: Page, live_server: LiveServer, settings: Settings
) -> None:
    settings.OPERATOR_MFA = True
    member = MemberFactory.create(company__name="Лавка")
    planned_deletion.request(company=member.company, user=member.user)
    enter_admin(page, live_server)
    page.goto(f"{live_server.url}{reverse('admin:accounts_company_changelist')}?deletion=due")
    page.get_by_role("link", name="Лавка").click()
    page.get_by_role("link", name="Удаление", exact=True).click()
    prove(page)
    page.get_by_role("link", name="Отмена").click()
    page.get_by_role("link", name="Удаление", exact=True).click()

    page.get_by_label("Дней до удаления").fill("3")
    page.get_by_role("button", name="Удалить раньше").click()
    expect(page.get_by_text("День перенесён; владельцам отправлено письмо.")).to_be_visible()
    page.get_by_role("link", name="Удаление", exact=True).click()
    page.get_by_role("button", name="Сохранить компанию").click()

    expect(page.get_by_text("Компания сохранена; владельцам отправлено письмо.")).to_be_visible()
    member.company.refresh_from_db()
    assert member.company.closes_at is None


def test_archive_is_made_and_downloaded(page: Page, live_server: LiveServer) -> None:
    member = sign_in(page, live_server)
    MessageFactory.create_batch(3, company=member.company)
    page.goto(f"{live_server.url}/cabinet/settings")
    page.locator("#deletion").get_by_role("link", name="Выгрузка компании").click()
    expect(page.get_by_text("Архивов пока нет.")).to_be_visible()

    page.get_by_role("button", name="Подготовить архив").click()
    confirm(page)
    page.get_by_role("button", name="Подготовить архив").click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    page.get_by_role("button", name="Подготовить архив").click()
    expect(page.get_by_text("Архив уже готовится: дождитесь его.")).to_be_visible()
    make_files()
    with page.expect_download() as downloaded:
        page.get_by_role("link", name="Скачать", exact=True).click()

    with ZipFile(downloaded.value.path()) as archive:
        lines = archive.read("messages-live.csv").decode("utf-8-sig").splitlines()
    assert len(lines) == 4
    page.get_by_role("button", name="Удалить", exact=True).click()
    expect(page.get_by_text("Архив удалён.")).to_be_visible()
    expect(page.get_by_text("Архивов пока нет.")).to_be_visible()
    page.locator("main .back a").click()
    expect(page.get_by_role("heading", name="Выгрузка и удаление")).to_be_visible()


def test_archive_under_way_is_cancelled(page: Page, live_server: LiveServer) -> None:
    sign_in(page, live_server)
    page.goto(f"{live_server.url}/cabinet/settings/export")
    page.get_by_role("button", name="Подготовить архив").click()
    confirm(page)
    page.get_by_role("button", name="Подготовить архив").click()

    page.get_by_role("button", name="Отмена").click()

    expect(page.get_by_text("Архивов пока нет.")).to_be_visible()
