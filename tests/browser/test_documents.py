"""Documents of a month are found, sent, downloaded and checked."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import Mail, Member
from billing.documents import issuing, month_closing
from billing.models import BillingProfile
from tests.billing.documents.history import at, buy, seal, seller, use
from tests.browser.clicks import ClickCounter
from tests.browser.signing_in import sign_in

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def member(page: Page, live_server: LiveServer) -> Member:
    """A member of a company whose October is closed, on the overview."""
    member = sign_in(page, live_server)
    seller()
    company = member.company
    BillingProfile.objects.create(
        company=company, legal_name="ООО «Ромашка»", inn="7800000002", kpp="780001001"
    )
    buy(company, at(10, 3), 100, "122.00")
    use(company, at(10, 20), 50)
    seal(company)
    month_closing.close()
    issuing.issue()
    return member


def test_documents_of_a_month_are_three_clicks_away(page: Page, member: Member) -> None:
    clicks = ClickCounter(page)

    page.get_by_role("link", name="Баланс", exact=True).first.click()
    page.get_by_role("link", name="Документы", exact=True).click()
    expect(page.get_by_role("row", name="Октябрь 2026")).to_contain_text("61,00")
    with page.expect_download() as download:
        page.get_by_role("row", name="Октябрь 2026").get_by_role("link", name="XML").click()

    assert clicks.count() <= 3
    assert download.value.suggested_filename.startswith("ON_NSCHFDOPPR_7800000002780001001_")


def test_document_is_sent_and_statements_are_downloaded(page: Page, member: Member) -> None:
    page.get_by_role("link", name="Баланс", exact=True).first.click()
    page.get_by_role("link", name="Документы", exact=True).click()
    Mail.objects.all().delete()

    row = page.get_by_role("row", name="Октябрь 2026")
    row.get_by_role("button", name="Отправить по почте").click()
    expect(page.get_by_text("Документ отправляется по почте.")).to_be_visible()
    assert Mail.objects.filter(to=member.user.email).exists()

    page.get_by_label("С", exact=True).fill("2026-10-01")
    page.get_by_label("По", exact=True).fill("2026-10-31")
    with page.expect_download() as download:
        page.get_by_role("button", name="Выписка, CSV").click()
    assert "50" in Path(download.value.path()).read_text(encoding="utf-8-sig")
    for name in ("Выписка, PDF", "Акт сверки, PDF"):
        with page.expect_response(lambda response: ".pdf?" in response.url) as answered:
            page.get_by_role("button", name=name).click()
        assert answered.value.status == 200
        page.go_back()


def test_statement_is_checked_on_its_page(page: Page, member: Member, tmp_path: Path) -> None:
    page.get_by_role("link", name="Баланс", exact=True).first.click()
    page.get_by_role("link", name="Сверка", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Скачать полную выписку").click()
    statement = tmp_path / "statement.csv"
    download.value.save_as(statement)

    page.get_by_role("link", name="Проверить выписку здесь").click()
    page.get_by_label("Выписка (CSV)").set_input_files(statement)
    page.get_by_role("button", name="Проверить файл").click()

    expect(page.get_by_text("Доказано.")).to_be_visible()
