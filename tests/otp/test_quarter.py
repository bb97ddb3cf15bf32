"""A quarter of one company: every place that states its sums states the same ones, to the token.

The long test has the messages of a real sender, and says how long its pages take.
"""

import csv
import io
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from datetime import time as clock
from decimal import Decimal
from pathlib import Path
from statistics import median
from xml.etree.ElementTree import Element, fromstring

import pypdf
import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.models import Company, Member
from billing.documents import (
    document_pdf,
    month_closing,
    period_statement,
    prepaid,
    reconciliation_act,
    upd_xml,
)
from billing.documents.period_statement import PeriodStatement
from billing.models import ClosedMonth, Document, Refund, Transfer
from billing.seals import statement_check
from channels.history import figures
from channels.history.breakdown import Dimension, breakdown
from channels.history.figures import DayRange
from config.environment.variables import ROOT
from tests.cabinet.csv_files import download
from tests.factories import MemberFactory
from tests.otp import quarter

pytestmark = pytest.mark.django_db(transaction=True)
FEW = 900
MESSAGES = 300_000
# Statements of each page, whatever the number of messages.
MAX_QUERIES = {"overview": 27, "spend": 27, "messages": 11, "statement": 12, "documents": 14}
ROUNDS = 7
Sums = dict[str, int]


@dataclass(frozen=True)
class Reader:
    """An accountant who reads the company's pages and files."""

    company: Company
    client: Client

    def page(self, name: str, query: str = "") -> str:
        response = self.client.get(f"{reverse(name)}?{query}")
        assert response.status_code == 200
        return plain(response.content.decode())

    def file(self, name: str, query: str = "") -> bytes:
        return download(self.client, name, query)

    def rows(self, name: str, query: str) -> list[dict[str, str]]:
        text = self.file(name, query).decode("utf-8-sig")
        return list(csv.DictReader(io.StringIO(text), delimiter=";"))


def plain(text: str) -> str:
    """With one kind of space."""
    return " ".join(
        text.replace("\u00a0", " ").replace("\u202f", " ").replace("&nbsp;", " ").split()
    )


def grouped(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def reader_of(company: Company, client: Client) -> Reader:
    client.force_login(MemberFactory.create(company=company, role=Member.Role.ACCOUNTANT).user)
    return Reader(company, client)


@pytest.fixture
def reader(client: Client) -> Reader:
    company = quarter.fill(FEW)
    quarter.close()
    return reader_of(company, client)


def test_every_sum_of_a_quarter_agrees(reader: Reader) -> None:
    check_sums(reader)


def test_books_and_chain_of_a_quarter_are_proved(reader: Reader, tmp_path: Path) -> None:
    check_proofs(reader, tmp_path)


def test_pages_of_a_quarter_take_few_statements(reader: Reader) -> None:
    assert too_many_statements(reader) == {}


@pytest.mark.long
@pytest.mark.timeout(900)
def test_quarter_of_a_real_sender(
    client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    began = time.monotonic()
    company = quarter.fill(MESSAGES)
    filled = time.monotonic()
    quarter.close()
    closed = time.monotonic()
    reader = reader_of(company, client)

    check_sums(reader)
    check_proofs(reader, tmp_path)
    assert too_many_statements(reader) == {}

    with capsys.disabled():
        sys.stdout.write(
            f"\n{MESSAGES:,} messages: {filled - began:.0f} s, closed {closed - filled:.0f} s\n"
        )
        for name, ms in timings(reader):
            sys.stdout.write(f"{name:>20} {ms:6.0f} ms\n")


def check_sums(reader: Reader) -> None:
    company = reader.company
    months = list(ClosedMonth.objects.filter(company=company).order_by("month"))
    days = quarter.months()
    assert [month.month for month in months] == [first for first, _last in days]
    for month, (first, last) in zip(months, days, strict=True):
        spent = spent_by(reader, first, last)
        assert set(spent.values()) == {month.spent}, spent
        assert month.spent > 0
        check_statement(reader, month, last)
        check_documents(company, month)
        check_pages(reader, month, last)
    check_whole(reader, months)


def spent_by(reader: Reader, first: date, last: date) -> Sums:
    """Returns the tokens spent in these days, from every place that shows them."""
    company = reader.company
    days = DayRange(first, last)
    overview = figures.figures(company, "live", days).now
    breakdowns = {
        f"breakdown by {by}": breakdown(company, "live", days, by).total for by in Dimension.values
    }
    for steps in breakdowns.values():
        assert (steps.requested, steps.delivered) == (overview.messages, overview.delivered)
        assert steps.charged == overview.delivered
    rows = reader.rows("balance-csv", f"kind=capture&date_from={first}&date_to={last}")
    return {
        "overview": overview.spent,
        **{name: steps.spent for name, steps in breakdowns.items()},
        "operations": -sum(int(row["Изменение"]) for row in rows),
        "statement": period_statement.make(company, first, last).tokens.spent,
        "charges": sum(
            charge["tokens"]
            for charge in ClosedMonth.objects.get(company=company, month=first).charges
        ),
    }


def check_statement(reader: Reader, month: ClosedMonth, last: date) -> None:
    """Tokens and money: the statement, its PDF and its CSV, and the lines of the operations."""
    query = f"date_from={month.month}&date_to={last}"
    statement = period_statement.make(reader.company, month.month, last)
    tokens, (money,) = statement.tokens, statement.money
    expected = (month.opening, month.bought, month.granted, month.withdrawn, month.spent)
    assert tuple(tokens) == (*expected, month.closing)

    lines = reader.rows("balance-csv", query)
    assert int(lines[-1]["Баланс"]) == month.closing
    changed = sum(int(row["Изменение"]) for row in lines)
    assert changed == month.closing - month.opening
    in_tokens, in_money = reader.rows("period-csv", query)
    assert [int(in_tokens[name]) for name in list(in_tokens)[3:9]] == list(tokens)
    sums = [Decimal(text.replace(",", ".")) for text in list(in_money.values())[3:9] if text]
    assert sums == [money.opening, money.received, money.refunded, money.charged, money.closing]
    assert str(money.closing) == month.money["RUB"]["closing"]

    text = words(reader.file("period-pdf", query))
    assert " ".join(map(grouped, tokens)) in text
    assert " ".join(roubles(amount) for amount in sums) in text


def roubles(amount: Decimal) -> str:
    return f"{amount:,.2f} ₽".replace(",", " ").replace(".", ",")


def words(content: bytes) -> str:
    return plain(
        " ".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(content)).pages)
    )


def check_documents(company: Company, month: ClosedMonth) -> None:
    """The closing document, its PDF and its XML say what the month does."""
    document = Document.objects.get(company=company, month=month.month)
    paid = sum(charge["tokens"] for charge in month.charges if Decimal(charge["amount"]))
    charged = prepaid.charged_in(month)["RUB"]
    assert (document.tokens, document.amount) == (paid, charged)
    free = sum(charge["tokens"] for charge in month.charges if not Decimal(charge["amount"]))
    assert document.tokens + free == month.spent

    pdf = words(files_of(document)["pdf"])
    assert roubles(document.amount) in pdf
    assert document.vat is not None
    assert roubles(document.vat) in pdf
    xml = fromstring(files_of(document)["xml"])  # noqa: S314 - ours
    assert sum(int(row.attrib["КолТов"]) for row in xml.iter("СведТов")) == document.tokens
    total = one(xml, "ВсегоОпл")
    assert Decimal(total.attrib["СтТовУчНалВсего"]) == document.amount
    assert Decimal(total.attrib["СтТовБезНДСВсего"]) == document.amount - document.vat
    rows = [Decimal(row.attrib["СтТовУчНал"]) for row in xml.iter("СведТов")]
    assert sum(rows) == document.amount


def files_of(document: Document) -> dict[str, bytes]:
    return {"pdf": document_pdf.draw(document), "xml": upd_xml.render(document)}


def one(xml: Element, name: str) -> Element:
    (result,) = xml.iter(name)
    return result


def check_pages(reader: Reader, month: ClosedMonth, last: date) -> None:
    query = f"period=days&date_from={month.month}&date_to={last}"
    spent = grouped(month.spent)
    assert f">{spent}<" in reader.page("overview", query)
    by_channel = reader.page("overview", f"{query}&by=channel")
    assert spent in by_channel
    assert f">{grouped(month.closing)}<" in reader.page("balance-statement", query)
    documents = reader.page("document-list")
    assert f">{spent}<" in documents
    assert f">{grouped(month.closing)}<" in documents


def check_whole(reader: Reader, months: list[ClosedMonth]) -> None:
    """The quarter's statement and act, next to its months and documents."""
    company = reader.company
    days = quarter.months()
    first, last = days[0][0], days[-1][1]
    whole: PeriodStatement = period_statement.make(company, first, last)
    assert whole.tokens.spent == sum(month.spent for month in months)
    assert (whole.tokens.opening, whole.tokens.closing) == (months[0].opening, months[-1].closing)
    act = reconciliation_act.make(company, first, last)
    documents = Document.objects.filter(company=company, kind="closing")
    used = sum(document.amount for document in documents)
    # The act has a dispute on the side of its day: the money went, and came back.
    won = sum(refund.amount for refund in Refund.objects.exclude(returned_at=None))
    assert won > 0
    assert act.accounts[0].debit == used + whole.money[0].refunded + won
    assert act.accounts[0].credit == whole.money[0].received + won
    assert act.accounts[0].closing == Decimal(months[-1].money["RUB"]["closing"])
    assert whole.money[0].closing == act.accounts[0].closing
    refunds = Transfer.objects.filter(company=company, kind="withdraw")
    assert len(refunds) == len(months)
    assert sum(month.withdrawn for month in months) == sum(row.amount for row in refunds)


def check_proofs(reader: Reader, directory: Path) -> None:
    """The chain, by the cabinet's check and by the program that companies run; and the books."""
    company = reader.company
    content = reader.file("balance-csv", "kind=all")
    result = statement_check.check(company, content)
    today = datetime.combine(timezone.now().date(), clock.min, UTC)
    unsealed = Transfer.objects.filter(company=company, created_at__gte=today).count()
    assert (result.problem, result.rest) == ("", unsealed)

    statement = directory / "statement.csv"
    heads = directory / "heads.json"
    statement.write_bytes(content)
    heads.write_bytes(reader.file("balance-heads"))
    program = [sys.executable, "-I", str(ROOT / "static/kvitok-verify.py")]
    proved = subprocess.run(
        [*program, str(statement), str(heads)], capture_output=True, text=True, check=False
    )
    assert proved.returncode == 0, proved.stdout
    assert month_closing.close() == 0
    output = io.StringIO()
    call_command("reconcile", "--full", stdout=output)
    assert "no breach" in output.getvalue()


def pages() -> Iterator[tuple[str, str, str]]:
    """A name, the page's budget, its address; of the last month and of the whole quarter."""
    days = quarter.months()
    spans = {"month": days[-1], "quarter": (days[0][0], days[-1][1])}
    for span, (first, last) in spans.items():
        query = f"period=days&date_from={first}&date_to={last}"
        yield f"overview, {span}", "overview", f"{reverse('overview')}?{query}"
        yield f"spend, {span}", "spend", f"{reverse('overview')}?{query}&by=purpose"
        yield f"messages, {span}", "messages", f"{reverse('message-list')}?{query}"
        yield f"statement, {span}", "statement", f"{reverse('balance-statement')}?{query}"
    yield "overview", "overview", reverse("overview")
    yield "messages", "messages", reverse("message-list")
    yield "statement", "statement", reverse("balance-statement")
    yield "documents", "documents", reverse("document-list")


def too_many_statements(reader: Reader) -> Sums:
    result = {}
    for name, of, path in pages():
        reader.client.get(path)  # fills caches
        with CaptureQueriesContext(connection) as queries:
            assert reader.client.get(path).status_code == 200
        if len(queries) > MAX_QUERIES[of]:
            result[name] = len(queries)
    return result


def timings(reader: Reader) -> Iterator[tuple[str, float]]:
    """Milliseconds of the server's side, the median of a few."""
    for name, _of, path in pages():
        taken = []
        for _round in range(ROUNDS):
            began = time.perf_counter()
            reader.client.get(path)
            taken.append((time.perf_counter() - began) * 1000)
        yield name, median(taken)
