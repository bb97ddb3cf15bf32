"""Documents are listed, downloaded, opened by an e-mail's link and sent again."""

from collections.abc import Iterable
from datetime import timedelta
from io import BytesIO
from typing import cast
from uuid import uuid4

import pypdf
import pytest
import time_machine
from django.core.signing import SignatureExpired, Signer
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import AuditEvent, Mail, Member
from billing.documents import document_pdf, issuing, month_closing
from billing.models import BillingProfile, Document
from billing.signed_links import DOCUMENTS, INVOICES, LIFETIME, SignedLinks
from tests.api.clients import Api
from tests.billing.documents.history import at, buy, make_company, seal, seller, use
from tests.document_factories import DocumentFactory
from tests.factories import ApiKeyFactory, MemberFactory

pytestmark = pytest.mark.django_db
OCTOBER = "date_from=2026-10-01&date_to=2026-10-31"


def streamed(response: HttpResponseBase) -> bytes:
    assert isinstance(response, StreamingHttpResponse)
    return b"".join(cast(Iterable[bytes], response.streaming_content))


def words(content: bytes) -> str:
    return " ".join(page.extract_text() for page in pypdf.PdfReader(BytesIO(content)).pages)


@pytest.fixture
def accountant(client: Client) -> Member:
    """An accountant of a company whose October is closed."""
    seller()
    company = make_company()
    member: Member = MemberFactory.create(company=company, role=Member.Role.ACCOUNTANT)
    client.force_login(member.user)
    buy(company, at(10, 3), 100, "122.00")
    use(company, at(10, 20), 50)
    seal(company)
    month_closing.close()
    issuing.issue()
    return member


def test_document_is_downloaded_as_pdf(client: Client, accountant: Member) -> None:
    document = Document.objects.get(kind="closing")

    response = client.get(reverse("document-download", args=[document.public_id, "pdf"]))

    text = words(response.content)
    for expected in (
        f"№ {document.number} от 31 октября 2026",
        "ООО «Продавец»",
        "ООО «Ромашка»",
        "7800000002/780001001",
        "01.10.2026 – 31.10.2026",
        "22%",
        "11,00 ₽",
        "61,00 ₽",
        "Статус: 1",
    ):
        assert expected in text.replace("\xa0", " "), text
    assert response.content == document_pdf.draw(Document.objects.get(pk=document.pk))


def test_link_in_the_email_opens_without_an_account(accountant: Member) -> None:
    document = Document.objects.get(kind="closing")
    stranger = Client()

    pdf = stranger.get(issuing.url_of(document, "pdf"))
    xml = stranger.get(issuing.url_of(document, "xml"))
    token = DOCUMENTS.token(document.pk)

    assert pdf.content.startswith(b"%PDF")
    assert "attachment" in xml["Content-Disposition"]
    forged = [token[:-1] + ("A" if token[-1] != "A" else "B"), document.pk.hex, "x", ""]
    for each in forged:
        assert stranger.get(f"/documents/{each}.pdf").status_code == 404


def test_link_in_the_email_is_checked_without_its_body(accountant: Member) -> None:
    """Mail servers check links so, and programs ask for a file's type before they open it."""
    address = issuing.url_of(Document.objects.get(kind="closing"), "pdf")

    response = Client().head(address)

    assert (response.status_code, response.content) == (200, b"")
    assert response["Content-Type"] == "application/pdf"


@pytest.mark.parametrize("links", [DOCUMENTS, INVOICES])
def test_link_expires_after_thirty_days_and_is_remade(links: SignedLinks) -> None:
    pk = uuid4()
    with time_machine.travel(timezone.now() - LIFETIME - timedelta(minutes=1)):
        old = links.token(pk)
    with time_machine.travel(timezone.now() - LIFETIME + timedelta(minutes=1)):
        young = links.token(pk)
    endless = Signer(salt=links._signer.salt).sign(pk.hex)  # as they were made before they ended

    assert links.read(young) == pk == links.read(links.token(pk))
    for each in (old, endless):
        with pytest.raises((SignatureExpired, ValueError)):
            links.read(each)


@pytest.mark.parametrize("name", ["document-file", "invoice", "invoice-file"])
def test_expired_document_link_answers_410(name: str) -> None:
    with time_machine.travel(timezone.now() - LIFETIME - timedelta(minutes=1)):
        token = (DOCUMENTS if name == "document-file" else INVOICES).token(uuid4())
    args = [token, "pdf"] if name == "document-file" else [token]

    page = Client().get(reverse(name, args=args))

    assert page.status_code == 410
    assert "30 дней" in page.content.decode()


def test_document_is_sent_again(client: Client, accountant: Member) -> None:
    document = Document.objects.get(kind="closing")
    Mail.objects.all().delete()

    response = client.post(reverse("document-send", args=[document.public_id]), follow=True)

    assert "по почте" in response.content.decode()
    assert list(Mail.objects.values_list("to", flat=True)) == [accountant.user.email]
    assert AuditEvent.objects.filter(action="document.sent", subject=document.number).exists()


def test_documents_are_sent_again_twenty_times_a_day(client: Client, accountant: Member) -> None:
    """A member who may enter an address for documents must flood neither it nor the outbox."""
    company = accountant.company
    BillingProfile.objects.filter(company=company).update(email="stranger@example.com")
    paths = [
        reverse("document-send", args=[document.public_id]) for document in Document.objects.all()
    ]
    Mail.objects.all().delete()

    for path in (paths * 20)[:20]:
        client.post(path)
    assert Mail.objects.filter(to="stranger@example.com").count() == 20

    assert "За сутки" in client.post(paths[0], follow=True).content.decode()
    assert Mail.objects.filter(to="stranger@example.com").count() == 20
    with time_machine.travel(timezone.now() + timedelta(hours=25)):
        client.force_login(accountant.user)
        assert "За сутки" not in client.post(paths[0], follow=True).content.decode()


def test_statement_of_a_month_is_downloaded(client: Client, accountant: Member) -> None:
    pdf = client.get(f"{reverse('period-pdf')}?{OCTOBER}")
    csv = streamed(client.get(f"{reverse('period-csv')}?{OCTOBER}")).decode()

    text = words(pdf.content).replace("\xa0", " ")
    assert "01.10.2026 – 31.10.2026" in text
    assert "122,00 ₽" in text
    assert '"2026-10-01";"2026-10-31";"токенов";0;100;0;0;50;50;' in csv
    assert '"RUB";"0,00";"122,00";"";"0,00";"61,00";"61,00";' in csv


def test_act_of_reconciliation_says_who_owes(client: Client, accountant: Member) -> None:
    pdf = client.get(f"{reverse('reconciliation-pdf')}?{OCTOBER}")

    assert "На 31.10.2026 ООО «Продавец» должно ООО «Ромашка» 61,00 ₽" in words(
        pdf.content
    ).replace("\xa0", " ").replace("\n", " ")


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("date_from=2026-10-31&date_to=2026-10-01", "Конец раньше начала."),
        ("date_from=junk&date_to=2026-10-01", "Введите правильную дату."),
        ("date_from=2026-10-01&date_to=9999-12-31", "День с 1970 по 2199 год."),
        ("date_from=2026-10-01", "Обязательное поле."),
    ],
)
@pytest.mark.parametrize("name", ["period-pdf", "period-csv", "reconciliation-pdf"])
def test_wrong_period_shows_its_error(
    client: Client, accountant: Member, name: str, query: str, error: str
) -> None:
    response = client.get(f"{reverse(name)}?{query}")

    assert error in response.content.decode()


def test_period_is_of_three_years_at_most(client: Client, accountant: Member) -> None:
    response = client.get(f"{reverse('period-pdf')}?date_from=2020-01-01&date_to=2026-10-01")

    assert "Не больше трёх лет за раз." in response.content.decode()


def test_act_begins_with_the_first_closed_month(client: Client, accountant: Member) -> None:
    url = reverse("reconciliation-pdf")

    page = client.get(f"{url}?date_from=2026-09-30&date_to=2026-10-01").content.decode()

    assert "Не раньше 1 октября 2026" in page


def test_api_lists_own_documents(accountant: Member) -> None:
    key = ApiKeyFactory.create(company=accountant.company)
    DocumentFactory.create()  # a stranger's

    body = Api(accountant.company, key.plaintext).get("/documents").body
    assert {row["kind"] for row in body["data"]} == {"closing", "advance"}
    act = next(row for row in body["data"] if row["kind"] == "closing")
    known = {name: act[name] for name in ("month", "tokens", "amount", "vat", "currency")}
    assert known == {
        "month": "2026-10",
        "tokens": 50,
        "amount": "61.00",
        "vat": "11.00",
        "currency": "RUB",
    }
    assert Client().get(act["pdf_url"]).content.startswith(b"%PDF")
    assert b"windows-1251" in Client().get(act["xml_url"]).content[:60]
