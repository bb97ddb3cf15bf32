"""The CSV export of messages."""

import csv
import io
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.formats import number_format

from accounts.models import Member
from cabinet import csv_exports
from cabinet.spreadsheets import BOM, csv_lines, escape_cell
from catalogue.languages import page_languages
from channels.models import Message
from tests.api.clients import Api
from tests.factories import ApiKeyFactory, MessageFactory, TransferFactory
from tests.otp.sent_codes import code_of


def downloaded(client: Client, **query: str) -> str:
    response = client.get(reverse("message-export"), query)
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert response.headers["Content-Disposition"].startswith('attachment; filename="kvitok-')
    return b"".join(response.streaming_content).decode()  # type: ignore[attr-defined]


def rows(text: str, delimiter: str = ";") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text.removeprefix(BOM)), delimiter=delimiter))


def test_every_message_of_the_filter_is_there_once(
    client: Client, owner: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_exports, "PART_SIZE", 3)
    wanted = MessageFactory.create_batch(7, company=owner.company, channel="sms")
    MessageFactory.create_batch(2, company=owner.company)
    MessageFactory.create(channel="sms")
    Message.objects.update(created_at=timezone.now())

    result = rows(downloaded(client, channel="sms"))

    assert sorted(row["Номер сообщения"] for row in result) == sorted(m.public_id for m in wanted)


def test_cells_show_message_details(client: Client, owner: Member) -> None:
    key = ApiKeyFactory.create(company=owner.company, name="=1+1")
    message = MessageFactory.create(
        company=owner.company,
        api_key=key,
        phone="+79160000001",
        state="failed",
        error="recipient_unreachable",
        channel="sms",
        request_id="req_1",
        locale="de-AT",
        params={"door": "twilio"},
    )
    TransferFactory.create(
        company=owner.company, kind="capture", proof="receipt", amount=16, message_id=message.id
    )

    (row,) = rows(downloaded(client))

    assert row["Телефон"] == "'+79160000001"  # a text for a spreadsheet, neither number nor sum
    assert (row["Статус"], row["Канал"]) == ("не доставлено", "SMS")
    assert "недоступен" in row["Причина"]
    assert row["Израсходовано токенов"] == "16"
    assert (row["Пришло через"], row["Язык"]) == ("Twilio Verify", "de-AT")
    assert row["Ключ"] == f"'=1+1 ({key})"
    assert row["Время"] == f"{timezone.localtime(message.created_at):%Y-%m-%d %H:%M:%S}"


def test_file_uses_the_separator_of_the_language(client: Client, owner: Member) -> None:
    MessageFactory.create(company=owner.company)
    russian = downloaded(client)
    client.cookies["django_language"] = "en"
    english = downloaded(client)

    assert russian.startswith('\ufeff"Время";"Номер сообщения";')
    assert english.startswith('\ufeff"Time","Message id",')


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("=1+1", "'=1+1"),
        ("+79160000001", "'+79160000001"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\r=1"),
        ("＝1", "'＝1"),
        ("a=1", "a=1"),
        ("", ""),
    ],
)
def test_no_cell_is_a_formula(cell: str, shown: str) -> None:
    assert escape_cell(cell) == shown


@pytest.mark.parametrize("language", page_languages.codes())
def test_sum_has_the_decimal_mark_of_the_language(language: str) -> None:
    amounts = [Decimal("3.11"), Decimal("-0.50")]
    with translation.override(language):
        sums = [number_format(amount) for amount in amounts]

    text = "".join(csv_lines([amounts], language))

    separator = page_languages.texts(language)["csv_separator"]
    assert next(csv.reader([text.removeprefix(BOM)], delimiter=separator)) == sums


@pytest.mark.parametrize("cell", ["00123", "1234567890123456", "12e5", "12E+5", "00.5", "0,10e3"])
def test_cell_read_as_number_by_spreadsheets_is_escaped(cell: str) -> None:
    assert escape_cell(cell) == f"'{cell}"


@pytest.mark.parametrize(
    "cell", ["0", "16", "0.50", "0,5", "123456789012345", "2026-11-29", "1e", 7]
)
def test_numbers_and_times_are_unchanged(cell: str | int) -> None:
    assert escape_cell(cell) == cell


def test_code_is_not_written_to_files(client: Client, owner: Member, test_api: Api) -> None:
    test_api.post("/otp/send", {"phone": "+79161234567"})

    text = downloaded(client, mode="test")

    assert "79161234567" in text
    assert code_of("+79161234567", mode="test") not in text


def test_download_is_audited_without_the_phone(client: Client, owner: Member) -> None:
    downloaded(client, phone="+79161234567", channel="sms")

    event = owner.company.audit.get()
    assert (event.action, event.user) == ("history.exported", owner.user)
    assert event.subject == "channel, phone"
