"""The format of the tax service, field by field. The published schema has judged the same files."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID
from xml.etree.ElementTree import Element, fromstring

import pytest

from billing.documents import upd_xml
from billing.documents.upd_xml import Name
from billing.models import Document
from tests.document_factories import DocumentFactory


def document(**fields: Any) -> Document:
    fields = {"id": UUID(int=7), "serial": 12, "company": None, **fields}
    fields.setdefault("created_at", datetime(2026, 11, 1, 6, 5, 4, tzinfo=UTC))
    row: Document = DocumentFactory.build(**fields)
    return row


def without_vat(**fields: Any) -> Document:
    line = dict(DocumentFactory._meta.declarations["lines"][0], vat=None, vat_rate=None)
    return document(vat=None, lines=[line], **fields)


def parties(**buyer: Any) -> dict[str, Any]:
    known: dict[str, Any] = DocumentFactory._meta.declarations["parties"]
    return {"seller": known["seller"], "buyer": known["buyer"] | buyer}


def parse(row: Document) -> Element:
    return fromstring(upd_xml.render(row))  # noqa: S314 - our own


def find_element(root: Element, path: str) -> Element:
    element = root.find(path)
    assert element is not None, path
    return element


def test_file_is_named_as_the_format_wants() -> None:
    root = parse(document())

    name = (
        "ON_NSCHFDOPPR_7800000002780001001_2BM-7700000009-770001001-202601010000000000000_"
        "20261031_00000000-0000-0000-0000-000000000007_0_0_0_0_0_00"
    )
    assert root.attrib == {"ИдФайл": name, "ВерсФорм": "5.03", "ВерсПрог": "Kvitok"}


def test_encoding_is_that_of_the_format_and_loses_no_letter() -> None:
    row = document(parties=parties(name="ООО «Café 東京»"))

    raw = upd_xml.render(row)

    assert raw.startswith(b"<?xml version='1.0' encoding='windows-1251'?>")
    assert "Продавец".encode("cp1251") in raw
    buyer = find_element(parse(row), ".//СвПокуп/ИдСв/СвЮЛУч")
    assert buyer.get("НаимОрг") == "ООО «Café 東京»"


def test_with_vat_it_is_an_invoice_and_an_act() -> None:
    root = parse(document())

    body = find_element(root, "Документ")
    assert (body.get("КНД"), body.get("Функция")) == ("1115131", "СЧФДОП")
    assert (body.get("ДатаИнфПр"), body.get("ВремИнфПр")) == ("01.11.2026", "09.05.04")
    assert find_element(root, ".//СвСчФакт").attrib == {
        "НомерДок": "2026-12",
        "ДатаДок": "31.10.2026",
    }
    assert find_element(root, ".//СвПРД").attrib == {"НомерПРД": "512", "ДатаПРД": "03.10.2026"}
    assert find_element(root, ".//ДокПодтвОтгрНом").get("РеквНомерДок") == "2026-12"
    row = find_element(root, ".//СведТов")
    values = {name: row.get(name) for name in ("КолТов", "ЦенаТов", "СтТовБезНДС", "НалСт")}
    assert values == {"КолТов": "100", "ЦенаТов": "1", "СтТовБезНДС": "100.00", "НалСт": "22%"}
    assert row.get("СтТовУчНал") == "122.00"
    assert find_element(row, "СумНал/СумНал").text == "22.00"
    assert find_element(root, ".//ВсегоОпл").attrib == {
        "СтТовБезНДСВсего": "100.00",
        "СтТовУчНалВсего": "122.00",
    }


def test_without_vat_it_is_an_act() -> None:
    root = parse(without_vat())

    assert find_element(root, "Документ").get("Функция") == "ДОП"
    assert find_element(root, ".//СведТов").get("НалСт") == "без НДС"
    assert find_element(root, ".//СведТов/СумНал/БезНДС").text == "без НДС"
    assert root.find(".//СвПРД") is None


def test_services_have_their_period_and_their_invoice() -> None:
    transfer = find_element(parse(document()), ".//СвПродПер/СвПер")

    assert transfer.get("ДатаНачПер") == "01.10.2026"
    assert transfer.get("ДатаОконПер") == "31.10.2026"
    assert find_element(transfer, "ОснПер").attrib == {
        "РеквНаимДок": "Счет на оплату",
        "РеквНомерДок": "2026-7",
        "РеквДатаДок": "02.10.2026",
    }


def test_advance_is_an_invoice_with_a_share_of_tax() -> None:
    root = parse(document(kind="advance", month=None))

    assert find_element(root, "Документ").get("Функция") == "СЧФ"
    row = find_element(root, ".//СведТов")
    assert row.get("НалСт") == "22/122"
    assert (row.get("КолТов"), row.get("СтТовБезНДС")) == (None, None)
    assert row.get("СтТовУчНал") == "122.00"
    assert root.find(".//СвПродПер") is None


def test_sole_proprietor_has_a_name_of_a_person() -> None:
    buyer = {"name": "ИП Иванов Иван Иванович", "inn": "500100732259", "kpp": ""}

    person = find_element(parse(document(parties=parties(**buyer))), ".//СвПокуп/ИдСв/СвИП")

    assert person.get("ИННФЛ") == "500100732259"
    assert find_element(person, "ФИО").attrib == {
        "Фамилия": "Иванов",
        "Имя": "Иван",
        "Отчество": "Иванович",
    }


@pytest.mark.parametrize("prefix", ["ИП", "ип", "Индивидуальный предприниматель"])
def test_words_before_a_surname_leave_the_xml_to_a_person(prefix: str) -> None:
    buyer = {"name": f"{prefix} Глава КФХ Иванов Иван Иванович", "inn": "500100732259", "kpp": ""}

    assert not upd_xml.can_render(document(parties=parties(**buyer)))


ODD = "Ромашка\x00\x0b\x1f\x85\u2028\u202e\ufffe<&\"'\n\t"


def test_odd_characters_keep_the_file_readable() -> None:
    seller = dict.fromkeys(("name", "address", "bank_name", "account", "edo_id"), ODD)
    made = document(parties=parties(name=ODD, address=ODD))
    made.parties = made.parties | {"seller": made.parties["seller"] | seller}

    root = parse(made)

    buyer = find_element(root, ".//СвПокуп/ИдСв/СвЮЛУч")
    assert buyer.get("НаимОрг") == "Ромашка <&\"'"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Иванов Иван Иванович", Name("Иванов", "Иван", "Иванович")),
        ("Иванов И. И.", Name("Иванов", "И.", "И.")),
        ("Иванов И.И.", Name("Иванов", "И.", "И.")),
        ("И. И. Иванов", Name("Иванов", "И.", "И.")),
        ("  Иванов   Яков ", Name("Иванов", "Яков")),
        ("Вишневская Галина", Name("Вишневская", "Галина")),
        ("ИВАНОВА АННА ИЛЬИНИЧНА", Name("ИВАНОВА", "АННА", "ИЛЬИНИЧНА")),
        ("Мамедов-Заде Али Вели оглы", Name("Мамедов-Заде", "Али", "Вели оглы")),
        ("Иванов", None),
        ("", None),
        ("Глава КФХ Иванов Иван Иванович", None),
        ("глава Иванов Иван Иванович", None),
        ("Глава Иванов Иван", None),
        ("КФХ Иванов", None),
        ("Крестьянское хозяйство Иванов И. И.", None),
        ("Генеральный директор Петров П. П.", None),
        ("Иван Иванович Иванов", None),
        ("Иван Иванович", None),
        ("«Ромашка» Иванов Иван", None),
        ("Иванов Иван 2-й", None),
        ("Адвокат Иванов Иван Иванович", None),
        ("Врач Петрова Анна Ивановна", None),
        ("Фермер Иванов И. И.", None),
        ("Фермер Иванов И.", None),
        ("фон Берг Иван Карлович", None),
        ("Фермер Иванов", None),
        ("Иван Иванов", None),
        ("Яков Иванов", None),
        ("Марина Никитина", None),
        ("Кафе Ромашка", None),
        ("Ли Мин", None),
    ],
)
def test_name_of_a_person_is_parsed(text: str, name: Name | None) -> None:
    assert upd_xml.parse_name(text) == name


def test_signer_is_the_head_of_the_seller() -> None:
    signer = find_element(parse(document()), ".//Подписант")

    assert signer.get("СпосПодтПолном") == "1"
    assert find_element(signer, "ФИО").attrib == {
        "Фамилия": "Петров",
        "Имя": "П.",
        "Отчество": "П.",
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"parties": parties(country="KZ", inn="123456789012")},
        {"parties": parties(inn="")},
        {"parties": parties(inn="500100732259", name="Ромашка")},
        {"currency": "GBP"},
        {"lines": [DocumentFactory._meta.declarations["lines"][0] | {"vat_rate": "15.00"}]},
    ],
)
def test_document_that_the_format_cannot_hold_has_no_xml(changes: dict[str, Any]) -> None:
    assert not upd_xml.can_render(document(**changes))


def test_price_of_a_token_has_the_places_of_the_format() -> None:
    line = {"amount": "100.00", "vat": None, "tokens": 3}

    assert upd_xml.unit_price(line) == "33.33333333333"
    assert upd_xml.unit_price(line | {"tokens": 100}) == "1"
    assert Decimal(upd_xml.unit_price(line | {"tokens": 10**9})) == Decimal("0.0000001")
