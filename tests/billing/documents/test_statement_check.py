"""The page that checks a statement: files of the company are proved or said to be unsuitable."""

import json
import re
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation

from accounts.models import Member
from billing.models import ArchivedMonth, ArchivedSum
from billing.seals import sealing, statement_check
from billing.seals.statement_check import MAX_BYTES
from tests.billing.documents.test_document_pages import streamed
from tests.billing.seals.books import at, busy_company, day
from tests.factories import MemberFactory

pytestmark = pytest.mark.django_db


def upload(client: Client, content: bytes) -> str:
    file = SimpleUploadedFile("statement.csv", content)
    return client.post(reverse("statement-check"), {"file": file}).content.decode()


@pytest.fixture
def statement(client: Client) -> bytes:
    company = busy_company()
    sealing.seal()
    client.force_login(MemberFactory.create(company=company, role=Member.Role.ACCOUNTANT).user)
    response = client.get(f"{reverse('balance-csv')}?kind=all")
    return streamed(response)


def test_statement_is_proved_on_the_page(client: Client, statement: bytes) -> None:
    page = upload(client, statement)

    assert "Доказано." in page
    heads = json.loads(client.get(reverse("balance-heads")).content)
    assert heads["data"][-1]["head"] in page
    assert "Ещё не запечатана 1 операция после них" in page.replace("\xa0", " ")


def test_changed_line_is_named(client: Client, statement: bytes) -> None:
    lines = statement.decode("utf-8-sig").splitlines(keepends=True)

    page = upload(client, "".join([*lines[:5], *lines[6:]]).encode())

    assert "Не доказано" in page
    assert "Отличается одна из строк" in page


@pytest.mark.parametrize("language", ["ru", "en"])
@pytest.mark.parametrize("query", ["", "?kind=capture", "?kind=top_up", "?kind=hold"])
def test_selected_operations_pass_the_check(
    client: Client, statement: bytes, query: str, language: str
) -> None:
    client.cookies["django_language"] = language
    file = streamed(client.get(f"{reverse('balance-csv')}{query}"))

    page = upload(client, file)

    said = {"ru": "Скачайте полную выписку", "en": "Download the full statement and upload"}
    assert said[language] in page
    assert "alert-danger" not in page


def test_statement_of_the_last_days_is_not_a_forgery(client: Client, statement: bytes) -> None:
    since = (timezone.localdate() - timedelta(days=40)).isoformat()

    page = upload(
        client, streamed(client.get(f"{reverse('balance-csv')}?kind=all&date_from={since}"))
    )

    assert "Файл начинается не с первой операции." in page


def test_every_code_of_the_program_has_a_sentence() -> None:
    program = statement_check.program()
    codes = {code for texts in statement_check.TEXTS.values() for code in texts}
    # The last two are about files and options that only the downloaded program gets.
    assert codes | {"heads", "no_opening"} == set(program.TEXTS)

    values = {name: name for name in ("row", "first", "last", "day", "shown", "sealed", "expected")}
    with translation.override("ru"):
        for code in codes:
            text = statement_check.sentence(statement_check.CheckResult(code, values)).text
            words = set(re.findall("[A-Za-z]+", text)) - values.keys() - {"UTF"}
            assert not words, text


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"a,b\n1,2\n", b"x" * 10])
def test_other_file_is_refused_kindly(client: Client, statement: bytes, content: bytes) -> None:
    assert "Файл не удалось проверить." in upload(client, content)


def test_file_that_is_too_long_is_refused(client: Client, statement: bytes) -> None:
    assert "больше 3 МБ" in upload(client, b"x" * (MAX_BYTES + 1))


def test_file_that_ends_earlier_is_not_a_forgery(client: Client, statement: bytes) -> None:
    """It was downloaded before the last days were sealed, or in the middle of one."""
    lines = statement.splitlines(keepends=True)

    for count in range(len(lines) - 1):
        page = upload(client, b"".join(lines[:count]))

        assert "alert-danger" not in page, count
        assert "Доказано." not in page, count


def test_statement_until_a_day_is_not_a_forgery(client: Client, statement: bytes) -> None:
    query = f"?kind=all&date_to={day(20)}"

    page = upload(client, streamed(client.get(f"{reverse('balance-csv')}{query}")))

    assert f"Файл обрывается раньше операций за {day(40)}" in page
    assert "alert-danger" not in page


def test_statement_of_a_company_with_archived_months_is_proved(
    client: Client, statement: bytes
) -> None:
    company = Member.objects.get().company
    month = ArchivedMonth.objects.create(month=day(20).replace(day=1))
    ArchivedSum.objects.create(
        company=company, month=month, kind="hold", transfers=0, tokens=0, last_at=at(20, 13)
    )
    file = streamed(client.get(f"{reverse('balance-csv')}?kind=all"))

    pages = [upload(client, content) for content in (file, statement)]

    assert "Баланс на начало" in file.decode()
    assert ["Доказано." in page for page in pages] == [True, True]
    forged = upload(
        client, file.replace(b'"expired"', b'"another"').replace(b"expired", b"another")
    )
    assert "Не доказано" in forged
