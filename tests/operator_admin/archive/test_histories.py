"""Companies' view of histories whose older months are in an archive."""

from datetime import UTC, date, datetime, timedelta
from uuid import UUID

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Company
from billing.documents import month_closing
from billing.models import ClosedMonth, Wallet
from billing.seals import sealing, statement_check
from billing.wallet import archived, statement
from cabinet.spreadsheets import csv_download
from catalogue.ids import first_id_at, public_id
from channels.models import Message
from storage.months.calendar import next_month
from tests.api.clients import Api
from tests.cabinet.csv_files import csv_rows
from tests.factories import (
    AttemptFactory,
    MemberFactory,
    MessageFactory,
    SellerFactory,
    TransferFactory,
    WalletFactory,
)
from tests.operator_admin.archive.commands import breaches, take_out

pytestmark = pytest.mark.django_db


@pytest.fixture
def cabinet(client: Client, history: Api) -> Client:
    client.force_login(MemberFactory.create(company=history.company).user)
    return client


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("balance-statement", "Более ранние операции\u00a0— в архиве."),
        ("message-list", "— в архиве."),
    ],
)
def test_lists_end_with_what_is_archived(
    cabinet: Client, month: date, path: str, text: str
) -> None:
    before = cabinet.get(reverse(path)).content.decode()
    take_out(month)

    page = cabinet.get(reverse(path)).content.decode()

    assert text not in before
    assert text in page


def test_api_says_that_a_message_is_archived(history: Api, month: date) -> None:
    message = Message.objects.earliest("id")
    take_out(month)

    response = history.get(f"/messages/{public_id('msg', message.pk)}")

    assert (response.status, response.body["code"]) == (404, "not_found")
    assert response.body["message"] == f"Сообщения до {next_month(month)}\u00a0— в архиве"
    later = history.get(f"/messages/{public_id('msg', UUID(int=message.pk.int + (1 << 127)))}")
    assert later.body["message"] == "Не найдено"


def test_page_of_an_archived_message_says_so(cabinet: Client, month: date) -> None:
    message = Message.objects.earliest("id")
    take_out(month)
    later = UUID(int=message.pk.int + (1 << 127))

    page = cabinet.get(reverse("message-detail", args=[public_id("msg", message.pk)]))

    assert page.status_code == 404
    words = " ".join(page.content.decode().split())
    assert "— в архиве. Их стоимость учтена в остатке" in words
    never = cabinet.get(reverse("message-detail", args=[public_id("msg", later)]))
    assert never.status_code == 404
    assert "в архиве" not in never.content.decode()


class Books:
    """Charges of this month and the next. The last one of this month comes in the next."""

    def __init__(self, company: Company, month: date) -> None:
        self.company = company
        self.start = datetime(month.year, month.month, 1, tzinfo=UTC)
        following = next_month(month)
        self.next = datetime(following.year, following.month, 1, tzinfo=UTC)
        self.number = 0

    def charge(self, message_at: datetime, charged_at: datetime) -> None:
        self.number += 1
        message = UUID(int=first_id_at(message_at).int + self.number)
        sent = MessageFactory.create(
            id=message,
            company=self.company,
            state="delivered",
            price=1,
            phone="+7916*",
            due_at=None,
            created_at=message_at,
        )
        AttemptFactory.create(message=sent, state="delivered")
        for kind, at in (("hold", message_at), ("capture", charged_at)):
            TransferFactory.create(
                company=self.company,
                kind=kind,
                amount=1,
                message_id=message,
                hold=1,
                key=None,
                proof="receipt" if kind == "capture" else "",
                created_at=at,
            )

    def grant(self, at: datetime) -> None:
        self.number += 1
        TransferFactory.create(
            company=self.company,
            kind="grant",
            amount=100,
            key=f"grant:{self.number}",
            created_at=at,
        )

    @property
    def balances(self) -> dict[int, int]:
        rows = list(statement.lines_of(self.company, {}).rows.order_by("-created_at"))
        return {row.pk: balance for row, balance in statement.with_balances(self.company, rows)}


@pytest.fixture
def books(month: date) -> Books:
    wallet: Wallet = WalletFactory.create(available=300 - 4)
    books = Books(wallet.company, month)
    hour = timedelta(hours=1)
    books.grant(books.start)
    books.charge(books.start + hour, books.start + 2 * hour)
    books.charge(books.next - hour, books.next + 3 * hour)
    books.grant(books.next + hour)
    books.charge(books.next + hour, books.next + 2 * hour)
    books.charge(books.next + hour, books.next + 4 * hour)
    books.grant(books.next + 5 * hour)
    sealing.seal_before(next_month(next_month(month)))
    return books


def test_archiving_keeps_other_balances(books: Books, month: date) -> None:
    before = books.balances

    take_out(month)

    after = books.balances
    assert list(after.values()) == [296, 196]
    assert after.items() < before.items()
    opening = archived.opening(books.company.pk)
    assert opening == (books.next + timedelta(hours=3), 197)
    assert [breach for breach in breaches() if "balance" in breach or "wallet" in breach] == []


def test_partly_archived_day_is_not_called_proved(books: Books, month: date) -> None:
    """Four rows stay of the day of the last archived charge; two of a later day are sealed."""
    later = books.next + timedelta(days=40)
    books.grant(later)
    books.grant(later + timedelta(hours=1))
    sealing.seal_before(later.date() + timedelta(days=1))
    take_out(month)

    begins_after = archived.opening(books.company.pk)
    assert begins_after is not None
    content = csv_download(csv_rows(books.company, "statement", {"kind": "all"}), "statement.csv")
    file = b"".join(content.streaming_content)  # type: ignore[arg-type]
    result = statement_check.check(books.company, file, begins_after=begins_after.at)

    assert (result.problem, result.heads) == ("", 1)
    assert (result.skipped, result.rows, result.rest) == (2, 2, 0)


def test_documents_begin_with_first_unarchived_month(books: Books, month: date) -> None:
    """The last charge of the archived month was made within the next one."""
    following = next_month(next_month(month))
    take_out(month)
    sealing.seal_before(next_month(next_month(following)))
    SellerFactory.create(documents_since=month)

    assert month_closing.close() > 0

    closed = ClosedMonth.objects.order_by("month")[0]
    assert (closed.month, closed.opening) == (following, 300 - 4)
    assert breaches() == []


def test_export_begins_with_the_opening_balance(books: Books, month: date) -> None:
    take_out(month)

    lines = csv_rows(books.company, "statement", {})

    assert [line[1:5] for line in lines[1:]] == [
        ["Баланс на начало", "", "", 197],
        ["списано", 1, -1, 196],
        ["начислено", 100, 100, 296],
    ]
    tomorrow = timezone.localdate() + timedelta(days=90)
    assert len(csv_rows(books.company, "statement", {"date_from": tomorrow})) == 1
