"""Reading T-Bank's statement: pages, what is skipped, when it is due, and that nothing is lost."""

import re
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import responses
import time_machine
from django.utils import timezone

from billing.bank_statements import matching, reading
from billing.models import BankTransfer, Order, StatementMark
from billing.wallet import ledger
from operator_admin.doctor import money
from tests.billing.gateways.vendors import ACCOUNT, TBankVendor, operation
from tests.billing.top_ups import place_order
from tests.factories import CompanyFactory, SellerFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("wire")]
URL = f"{TBankVendor.url}/statement"


@pytest.fixture
def invoice(wire: Iterator[None]) -> Order:
    SellerFactory.create()
    return place_order(CompanyFactory.create(), "invoice")


def shows(*operations: dict[str, Any], **more: Any) -> None:
    responses.upsert("GET", URL, json={"operations": operations, **more})


def query(call: int) -> dict[str, list[str]]:
    return parse_qs(urlsplit(str(responses.calls[call].request.url)).query)


def age(**times: timedelta) -> None:
    StatementMark.objects.update(**{name: timezone.now() - ago for name, ago in times.items()})


def test_operation_pays_its_invoice(invoice: Order) -> None:
    shows(operation("op-1", "1900.00", f"Оплата счета {invoice.number}"))

    assert [reading.read_due(), reading.read_due()] == [1, 0]

    assert ledger.balance(invoice.company_id) == (1000, 0)
    transfer = BankTransfer.objects.get()
    assert (transfer.source, transfer.party_inn, str(transfer.booked_on)) == (
        *("tbank", "7800000002", "2026-11-25"),
    )
    assert query(0)["accountNumber"] == [ACCOUNT]
    assert query(0)["operationStatus"] == ["Transaction"]


@pytest.mark.parametrize(
    "written", ["2026-11-25", "2026-11-25T00:30:00", "2026-11-24T21:30:00Z", "2026-11-25T23:59:00"]
)
def test_day_is_the_banks_wherever_the_service_is(
    monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    monkeypatch.setenv("TZ", "Asia/Vladivostok")
    time.tzset()
    try:
        line = reading.line_of(operation("op-1", "5", "а") | {"operationDate": written}, ACCOUNT)
    finally:
        monkeypatch.undo()
        time.tzset()

    assert str(line.booked_on) == "2026-11-25"


@pytest.mark.parametrize("amount", ["1_900", " 1900", "19e2", "١٩٠٠", "NaN", "", None, True])
def test_unusual_amount_is_not_guessed(amount: object) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(str(amount))}$"):
        reading.line_of(operation("op-1", "5", "а") | {"accountAmount": amount}, ACCOUNT)


def test_pages_are_followed_to_the_end(invoice: Order) -> None:
    responses.add("GET", URL, json={"operations": [operation("1", "5", "а")], "nextCursor": "c1"})
    last = operation("2", "1900", f"Счет {invoice.number}", number="18")
    responses.add("GET", URL, json={"operations": [last], "nextCursor": None})

    assert reading.read_due() == 2
    assert (query(1)["cursor"], ledger.balance(invoice.company_id)) == (["c1"], (1000, 0))


def test_authorisation_credits_nothing(invoice: Order) -> None:
    purpose = f"Счет {invoice.number}"
    shows(operation("op-1", "1900", purpose, status="Authorization"))

    assert reading.read_due() == 0
    assert not BankTransfer.objects.exists()


@pytest.mark.parametrize(
    "response", [{"status": 503}, {"json": {}}, {"body": "<html>"}, {"status": 401, "json": {}}]
)
def test_same_days_are_read_again_after_a_bank_failure(
    invoice: Order, response: dict[str, Any]
) -> None:
    responses.upsert("GET", URL, **response)
    reading.read_due()
    mark = StatementMark.objects.get()
    age(tried_at=timedelta(minutes=6))
    shows(operation("op-1", "1900.00", f"Счет {invoice.number}"))

    reading.read_due()

    assert (mark.read_until, bool(mark.error)) == (None, True)
    assert query(1)["from"][0][:10] == query(0)["from"][0][:10]
    assert (ledger.balance(invoice.company_id), StatementMark.objects.get().error) == (
        (1000, 0),
        "",
    )


def test_death_before_the_mark_moves_repeats_the_reading(
    invoice: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    shows(
        operation("op-1", "1900.00", f"Счет {invoice.number}"),
        operation("op-2", "5.00", "Прочее", number="18"),
    )
    receive = matching.receive

    def die(line: Any) -> Any:
        if "Прочее" in line.purpose:
            raise KeyboardInterrupt
        return receive(line)

    with monkeypatch.context() as patch:
        patch.setattr(matching, "receive", die)
        with pytest.raises(KeyboardInterrupt):
            reading.read_due()
    was_read_until = StatementMark.objects.get().read_until
    reading.read(ACCOUNT)

    assert (was_read_until, BankTransfer.objects.count()) == (None, 2)
    assert ledger.balance(invoice.company_id) == (1000, 0)


def test_unfinished_reading_is_repeated_within_a_minute(invoice: Order) -> None:
    """Its process was killed; the bank's webhook is answered, and does not come again."""
    StatementMark.objects.create(account=ACCOUNT, tried_at=timezone.now())
    shows(operation("op-1", "1900.00", f"Счет {invoice.number}"))
    early = reading.read_due()
    age(tried_at=timedelta(seconds=61))

    assert [early, reading.read_due(), reading.read_due()] == [0, 1, 0]
    assert ledger.balance(invoice.company_id) == (1000, 0)


def test_unknown_operation_does_not_block_others(invoice: Order) -> None:
    broken = operation("op-0", "1", "а") | {"operationDate": "yesterday"}
    shows(broken, operation("op-1", "1900.00", f"Счет {invoice.number}"))

    assert reading.read_due() == 1
    assert ledger.balance(invoice.company_id) == (1000, 0)
    assert "ValueError" in StatementMark.objects.get().error


def test_negative_credit_is_not_a_payment(invoice: Order) -> None:
    shows(operation("op-1", "-1900.00", f"Счет {invoice.number}"))

    assert reading.read_due() == 0
    assert not BankTransfer.objects.exists()
    assert "ValueError" in StatementMark.objects.get().error


def test_webhook_of_news_makes_it_due_at_once(invoice: Order) -> None:
    shows()
    reading.read_due()
    age(tried_at=timedelta(seconds=6))
    early = len(responses.calls)
    reading.read_due()

    status = TBankVendor().post({"operationId": "op-1", "accountNumber": ACCOUNT})
    reading.read_due()

    assert (status, early, len(responses.calls)) == (200, 1, 2)


def test_days_before_the_last_reading_are_read_again(invoice: Order) -> None:
    shows()
    reading.read_due()
    age(tried_at=timedelta(minutes=6), read_until=timedelta(days=10))

    reading.read_due()

    assert query(1)["from"][0][:10] == f"{timezone.now() - timedelta(days=13):%Y-%m-%d}"


def test_statement_is_read_only_if_enabled(invoice: Order, settings: Any) -> None:
    account = settings.GATEWAY_ACCOUNTS["tbank"] | {"has_statement": False}
    settings.GATEWAY_ACCOUNTS = settings.GATEWAY_ACCOUNTS | {"tbank": account}

    assert reading.read_due() == 0
    assert money.bank_statement() == []


def test_doctor_says_when_the_statement_was_read(invoice: Order) -> None:
    never = money.bank_statement()
    StatementMark.objects.create(account="40702810000000000001", error="of an earlier account")
    shows()
    reading.read_due()
    fresh = money.bank_statement()
    age(read_at=timedelta(hours=1))
    old = money.bank_statement()
    StatementMark.objects.update(error="403 no right")

    result = [never, fresh, old, money.bank_statement()]
    assert [finding.ok for (finding,) in result] == [False, True, False, False]


@pytest.mark.parametrize("token", ["", "Bearer ", "Bearer guessed", "Basic ZnJvbS10aGUtYmFuaw=="])
def test_webhook_without_the_secret_is_refused(invoice: Order, token: str) -> None:
    StatementMark.objects.create(account=ACCOUNT)

    assert TBankVendor().post({"operationId": "1", "accountNumber": ACCOUNT}, token) == 403
    assert StatementMark.objects.get().noticed_at is None


@pytest.mark.parametrize("webhook", [{}, {"status": "PAID"}, {"qrId": ""}])
def test_webhook_of_nothing_is_refused(invoice: Order, webhook: dict[str, Any]) -> None:
    assert TBankVendor().post(webhook) == 403


def test_line_that_fails_is_read_again_until_it_is_received(
    invoice: Order, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A transfer is money: the days after which a statement is not read again must not pass it."""
    shows(operation("op-1", "1900.00", f"Оплата счета {invoice.number}"))
    with monkeypatch.context() as broken:
        broken.setattr(matching, "receive", lambda _line: 1 / 0)
        with time_machine.travel(timezone.now() - timedelta(days=9), tick=False):
            StatementMark.objects.create(account=ACCOUNT, read_until=timezone.now())
            began = timezone.now()
            assert reading.read(ACCOUNT) == 0
        for days in range(8, 0, -1):
            with time_machine.travel(timezone.now() - timedelta(days=days), tick=False):
                assert reading.read(ACCOUNT) == 0

    assert StatementMark.objects.get().read_until == began
    assert reading.read(ACCOUNT) == 1
    assert ledger.balance(invoice.company_id) == (1000, 0)
    assert StatementMark.objects.filter(read_until__gt=began).exists()
