"""The operator uploads a bank statement and matches its transfers."""

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import Locator, Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from billing.models import BankTransfer, Order
from billing.wallet import ledger
from tests.billing.bank_statements.statement_file import ACCOUNT, FILE
from tests.billing.bank_statements.transfers import paid, received
from tests.billing.top_ups import place_order
from tests.browser.admin_audit import WIDTHS, faults_of
from tests.browser.operators import enter
from tests.browser.page_audit import AXE, FIND_OVERFLOW, RULES, RUN_AXE, THEMES, Theme
from tests.factories import CompanyFactory, SellerFactory

pytestmark = pytest.mark.django_db(transaction=True)
LIST = "admin:billing_banktransfer_changelist"
TOKENS = 1000


@dataclass(frozen=True)
class Queue:
    """The list of transfers as the operator sees it."""

    page: Page
    url: str
    order: Order

    def open(self) -> None:
        self.page.goto(f"{self.url}{reverse(LIST)}")

    def row(self, number: str) -> Locator:
        pk = BankTransfer.objects.get(document_number=number).pk
        return self.page.locator("#result_list tbody tr", has=self.page.locator(f'[value="{pk}"]'))

    def act(self, action: str, *numbers: str) -> None:
        self.open()
        for number in numbers:
            self.row(number).locator(".action-select").check()
        self.page.locator('select[name="action"]').select_option(label=action)
        self.page.locator('button[name="index"]').click()

    def says(self, text: str) -> None:
        expect(self.page.locator(".messagelist")).to_contain_text(text)

    @property
    def balance(self) -> int:
        return ledger.balance(self.order.company_id).available


@pytest.fixture
def queue(page: Page, live_server: LiveServer, settings: Settings) -> Queue:
    """A queue of two waiting transfers: by another payer, and without an invoice."""
    settings.OPERATOR_MFA = False
    SellerFactory.create(account=ACCOUNT)
    order = place_order(CompanyFactory.create(name="Ромашка"), "invoice")
    received(paid(order, party_inn="7700000005", document_number="21"))
    received(paid(order, purpose="за токены", document_number="22", amount=Decimal(700)))
    enter(page, live_server)
    return Queue(page, live_server.url, order)


def states() -> dict[str, str]:
    return dict(BankTransfer.objects.values_list("document_number", "state"))


def test_transfer_is_credited_to_the_top_up_it_names(queue: Queue) -> None:
    queue.page.get_by_text("Все данные").click()
    queue.page.get_by_role("link", name="Банковские переводы").first.click()
    queue.act("Зачислить на пополнение из назначения", "21")

    queue.says("1 перевод разобран")
    assert (states()["21"], queue.balance) == ("assigned", TOKENS)
    queue.act("Зачислить на пополнение из назначения", "21")
    queue.says("0 переводов разобрано")
    assert queue.balance == TOKENS


def test_tokens_are_taken_back_for_returned_money(queue: Queue) -> None:
    queue.act("Зачислить на пополнение из назначения", "21")
    received(paid(queue.order, document_number="24"))  # a second payment, so the next one waits
    back = f"Возврат по счёту № {queue.order.number}"
    received(paid(queue.order, is_incoming=False, purpose=back, document_number="23"))
    assert states()["23"] == "review"

    queue.act("Изъять токены: деньги возвращены", "23")

    queue.says("1 перевод разобран")
    assert (states()["23"], queue.balance) == ("assigned", 0)


def test_transfer_is_matched_by_hand(queue: Queue) -> None:
    page = queue.page
    queue.open()
    queue.row("22").locator("th a").click()
    page.get_by_role("link", name="Зачислить на пополнение").click()
    expect(page.locator("main, #content").first).to_contain_text("за токены")

    page.get_by_label("Счёт или пополнение").fill("2026-99999")
    page.get_by_role("button", name="Зачислить на пополнение").click()
    expect(page.locator(".errorlist")).to_be_visible()
    assert queue.balance == 0
    page.get_by_label("Счёт или пополнение").fill(queue.order.number)
    page.get_by_role("button", name="Зачислить на пополнение").click()

    queue.says("Ромашка")
    assert (states()["22"], queue.balance) == ("assigned", TOKENS)
    queue.row("22").locator("th a").click()
    expect(page.get_by_role("link", name="Зачислить на пополнение")).to_have_count(0)


def test_statement_is_uploaded(queue: Queue, tmp_path: Path) -> None:
    page = queue.page
    file = tmp_path / "kl_to_1c.txt"
    file.write_bytes(FILE.replace("2026-17", queue.order.number).encode("windows-1251"))
    queue.open()

    page.get_by_role("link", name="Загрузить выписку").click()
    page.locator('input[type="file"]').set_input_files(file)
    page.get_by_role("button", name="Загрузить выписку").click()

    queue.says("Прочитан")
    # What went back waits: it may be the money of the other transfer that names the invoice.
    assert (queue.balance, states()["17"], states()["4"]) == (TOKENS, "matched", "review")


def broken_rules(page: Page) -> list[str]:
    """Returns the accessibility rules that the page breaks in its present state."""
    faults = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        faults += page.evaluate(FIND_OVERFLOW)
    page.evaluate(AXE)
    return [*faults, *page.evaluate(RUN_AXE, [RULES, False])]


@pytest.mark.parametrize("theme", THEMES)
def test_queue_breaks_no_rule_and_fits_the_screen(queue: Queue, theme: Theme) -> None:
    """Looks also after an action and with errors; other tests see pages as they open."""
    page = queue.page
    page.emulate_media(color_scheme=theme)
    pk = BankTransfer.objects.get(document_number="22").pk
    names = {"changelist": [], "upload": [], "assign": [pk], "change": [pk]}
    paths = [
        reverse(f"admin:billing_banktransfer_{name}", args=args) for name, args in names.items()
    ]
    paths.append(f"{reverse(LIST)}?attention=yes")

    faults = [fault for path in paths for fault in faults_of(page, f"{queue.url}{path}")]
    for name in ("upload", "assign"):
        args = [pk] if name == "assign" else []
        page.goto(f"{queue.url}{reverse(f'admin:billing_banktransfer_{name}', args=args)}")
        page.locator("form input:not([type=hidden])").evaluate_all(
            "all => all.forEach(one => one.required = false)"
        )
        page.locator(".submit-row input").click()
        expect(page.locator(".errorlist").first).to_be_visible()
        faults += broken_rules(page)
    queue.act("Не пополнение", "22")
    faults += broken_rules(page)

    assert faults == []
