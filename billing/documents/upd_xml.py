"""A document as ФНС format 5.03 of invoices and transfer documents (УПД): КНД 1115131.

Order of 19.12.2023 № ЕД-7-26/970@; the schema is ON_NSCHFDOPPR_1_997_01_05_03. With VAT the
document is an invoice and an act (СЧФДОП), without it an act (ДОП); an advance has only an invoice
(СЧФ). The file is unsigned: the exchange operator's program signs it.
"""

import re
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from django.utils import timezone

from billing.models import Document
from parsing.characters import one_line
from storage.months.calendar import last_day

# In Russian, like the tax service's forms.
SERVICE = "Услуги по доставке сообщений через сервис Kvitok, токены"


def advance_title(line: dict[str, Any]) -> str:
    number = f" по счету {line['invoice']}" if line["invoice"] else ""
    return f"Предварительная оплата{number}: {SERVICE[0].lower()}{SERVICE[1:]}"


ENCODING = "windows-1251"  # required by the format
VERSION = "5.03"
FORM_CODE = "1115131"
PROGRAM = "Kvitok"
CURRENCIES = {
    "RUB": ("643", "Российский рубль"),
    "USD": ("840", "Доллар США"),
    "EUR": ("978", "Евро"),
    "KZT": ("398", "Тенге"),
    "BYN": ("933", "Белорусский рубль"),
}
RATES = {0, 5, 7, 10, 18, 20, 22}  # percent; rates in the schema that a seller may have
PIECES = ("796", "шт")  # ОКЕИ
SERVICE_KIND = "3"  # a service, not goods
BY_SIGNATURE = "1"  # the signer's powers are in the certificate of the signature
NO_TAX = "без НДС"
FUNCTION_TITLES = {
    "СЧФДОП": (
        "Счет-фактура и документ об отгрузке товаров (выполнении работ), передаче имущественных "
        "прав (документ об оказании услуг)"
    ),
    "ДОП": (
        "Документ об отгрузке товаров (выполнении работ), передаче имущественных прав "
        "(документ об оказании услуг)"
    ),
}
OWN_TITLES = {"СЧФДОП": "Универсальный передаточный документ", "ДОП": "Акт об оказании услуг"}
PROPRIETORS = ("индивидуальный предприниматель", "ип")
# A part of a name: letters, or an initial with its full stop.
_WORD = re.compile(r"[^\W\d_]\.|[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_PATRONYMIC = ("вич", "ьич", "мич", "кич", "вна", "чна", "оглы", "оглу", "кызы", "гызы", "уулу")
_OF_TWO_WORDS = {"оглы", "оглу", "кызы", "гызы", "уулу"}  # the second part of such a patronymic
# Endings that only patronymics have.
_SURNAME = re.compile(r"(?!(?:яков|лев|ева)$).+(?:ова?|ева?|ёва?|ский|ская|цкий|цкая)")
_NOT_NAMES = {
    *("глава", "кфх", "крестьянское", "крестьянского", "фермерское", "фермерского", "хозяйство"),
    *("хозяйства", "ип", "индивидуальный", "предприниматель", "адвокат", "нотариус", "самозанятый"),
    *("директор", "генеральный", "президент", "председатель", "управляющий", "руководитель"),
}
MAX_LENGTHS = {"name": 1000, "address": 1000, "number": 30}  # characters of the format
_CENT = Decimal("0.01")
_UNIT = Decimal("0.00000000001")


@dataclass(frozen=True, slots=True)
class Name:
    last: str
    first: str
    middle: str = ""


def can_render(document: Document) -> bool:
    """Whether the document can be made: the format needs Russian tax numbers of both parties, the
    signer's name and a known rate.
    """
    parties = (document.seller, document.buyer)
    rates = {Decimal(line["vat_rate"]) for line in document.lines if line["vat_rate"] is not None}
    return (
        document.currency in CURRENCIES
        and rates <= RATES
        and document.buyer.get("country", "RU") == "RU"
        and parse_name(document.seller.get("head", "")) is not None
        and all(_can_be_party(party) for party in parties)
    )


def _can_be_party(party: dict[str, Any]) -> bool:
    inn = party.get("inn", "")
    return len(inn) == 10 or (len(inn) == 12 and _proprietor(party) is not None)


def file_id(document: Document) -> str:
    """The file's id and name: buyer, seller, day, id."""
    parties = "_".join(_exchange_id(party) for party in (document.buyer, document.seller))
    return f"ON_NSCHFDOPPR_{parties}_{document.issued_on:%Y%m%d}_{document.pk}_0_0_0_0_0_00"


def _exchange_id(party: dict[str, Any]) -> str:
    return party.get("edo_id") or f"{party.get('inn', '')}{party.get('kpp', '')}"


def function_of(document: Document) -> str:
    if document.kind == Document.Kind.ADVANCE:
        return "СЧФ"
    return "ДОП" if document.vat is None else "СЧФДОП"


def render(document: Document) -> bytes:
    """Renders the document; characters that the encoding lacks become references."""
    root = Element("Файл", ИдФайл=file_id(document), ВерсФорм=VERSION, ВерсПрог=PROGRAM)
    function = function_of(document)
    created = timezone.localtime(document.created_at, timezone.get_default_timezone())
    body = SubElement(root, "Документ", КНД=FORM_CODE, Функция=function)
    if function in FUNCTION_TITLES:
        body.set("ПоФактХЖ", FUNCTION_TITLES[function])
        body.set("НаимДокОпр", OWN_TITLES[function])
    body.set("ДатаИнфПр", f"{created:%d.%m.%Y}")
    body.set("ВремИнфПр", f"{created:%H.%M.%S}")
    body.set("НаимЭконСубСост", _economic_entity(document.seller))
    _head(body, document, function)
    _table(body, document)
    if function != "СЧФ":
        _transfer(body, document)
    _signer(body, document)
    _clean(root)
    xml: bytes = tostring(root, encoding=ENCODING, xml_declaration=True)
    return xml


def _clean(root: Element) -> None:
    """Removes control characters: XML has none, and one in a name would make the whole file
    unreadable.
    """
    for element in root.iter():
        element.attrib.update({name: one_line(text) for name, text in element.attrib.items()})


def _economic_entity(seller: dict[str, Any]) -> str:
    numbers = "/".join(number for number in (seller["inn"], seller.get("kpp", "")) if number)
    return f"{seller['name']}, ИНН/КПП {numbers}"[: MAX_LENGTHS["name"]]


def _head(body: Element, document: Document, function: str) -> None:
    head = SubElement(body, "СвСчФакт", НомерДок=document.number, ДатаДок=_date(document.issued_on))
    _party(SubElement(head, "СвПрод"), document.seller, has_bank=True)
    for number, day in _payments(document) if document.vat is not None else ():
        SubElement(head, "СвПРД", НомерПРД=number[: MAX_LENGTHS["number"]], ДатаПРД=_date(day))
    if function == "СЧФДОП":  # line 5a of the invoice: the act is this document itself
        SubElement(
            head,
            "ДокПодтвОтгрНом",
            РеквНаимДок=OWN_TITLES[function],
            РеквНомерДок=document.number,
            РеквДатаДок=_date(document.issued_on),
        )
    _party(SubElement(head, "СвПокуп"), document.buyer)
    code, name = CURRENCIES[document.currency]
    SubElement(head, "ДенИзм", КодОКВ=code, НаимОКВ=name)


def _payments(document: Document) -> list[tuple[str, date]]:
    payments = {
        (line["payment"], date.fromisoformat(line["payment_day"]))
        for line in document.lines
        if line["payment"] and line["payment_day"]
    }
    return sorted(payments, key=lambda payment: (payment[1], payment[0]))


def _party(element: Element, party: dict[str, Any], *, has_bank: bool = False) -> None:
    identity = SubElement(element, "ИдСв")
    name = party["name"][: MAX_LENGTHS["name"]]
    if len(party["inn"]) == 10:
        organisation = SubElement(identity, "СвЮЛУч", НаимОрг=name, ИННЮЛ=party["inn"])
        if party.get("kpp"):
            organisation.set("КПП", party["kpp"])
    else:
        person = SubElement(identity, "СвИП", ИННФЛ=party["inn"])
        _full_name(person, _proprietor(party) or Name(name, name))
    if address := party.get("address"):
        text = " ".join(address.split())[: MAX_LENGTHS["address"]]
        SubElement(
            SubElement(element, "Адрес"), "АдрИнф", КодСтр="643", НаимСтран="РОССИЯ", АдрТекст=text
        )
    if has_bank and party.get("account"):
        account = SubElement(element, "БанкРекв", НомерСчета=party["account"])
        SubElement(
            account,
            "СвБанк",
            НаимБанк=party["bank_name"],
            БИК=party["bic"],
            КорСчет=party["corr_account"],
        )


def _table(body: Element, document: Document) -> None:
    table = SubElement(body, "ТаблСчФакт")
    for number, line in enumerate(document.lines, 1):
        _line(table, document, number, line)
    net = document.amount - (document.vat or 0)
    total = SubElement(table, "ВсегоОпл", СтТовУчНалВсего=_sum(document.amount))
    if document.kind == Document.Kind.CLOSING:
        total.set("СтТовБезНДСВсего", _sum(net))
    _tax(SubElement(total, "СумНалВсего"), document.vat)


def _line(table: Element, document: Document, number: int, line: dict[str, Any]) -> None:
    amount = Decimal(line["amount"])
    rate = line["vat_rate"]
    vat = Decimal(line["vat"]) if line["vat"] is not None else None
    row = SubElement(table, "СведТов", НомСтр=str(number))
    if document.kind == Document.Kind.ADVANCE:
        row.set("НаимТов", advance_title(line))
        row.set("НалСт", _share_of(rate))
    else:
        row.set("НаимТов", SERVICE)
        row.set("ОКЕИ_Тов", PIECES[0])
        row.set("НаимЕдИзм", PIECES[1])
        row.set("КолТов", str(line["tokens"]))
        row.set("ЦенаТов", unit_price(line))
        row.set("СтТовБезНДС", _sum(amount - (vat or 0)))
        row.set("НалСт", rate_text(rate))
    row.set("СтТовУчНал", _sum(amount))
    if document.kind == Document.Kind.CLOSING:
        SubElement(row, "ДопСведТов", ПрТовРаб=SERVICE_KIND)
        SubElement(SubElement(row, "Акциз"), "БезАкциз").text = "без акциза"
    _tax(SubElement(row, "СумНал"), vat)


def unit_price(line: dict[str, Any]) -> str:
    """The price of a token without tax, to the format's eleven places."""
    net = Decimal(line["amount"]) - Decimal(line["vat"] or 0)
    price = (net / line["tokens"]).quantize(_UNIT, ROUND_HALF_UP).normalize()
    return f"{price:f}"


def rate_text(rate: str | None) -> str:
    return NO_TAX if rate is None else f"{_number(rate)}%".replace(".", ",")


def _share_of(rate: str | None) -> str:
    """The tax rate of an advance: a share of it, such as 22/122."""
    if rate is None:
        return NO_TAX
    return f"{_number(rate)}/{_number(str(Decimal(rate) + 100))}"


def _number(rate: str) -> str:
    return f"{Decimal(rate).normalize():f}"


def _tax(element: Element, vat: Decimal | None) -> None:
    if vat is None:
        SubElement(element, "БезНДС").text = NO_TAX
    else:
        SubElement(element, "СумНал").text = _sum(vat)


def _transfer(body: Element, document: Document) -> None:
    assert document.month is not None  # noqa: S101 - the database says so
    transfer = SubElement(
        SubElement(body, "СвПродПер"),
        "СвПер",
        СодОпер="Услуги оказаны в полном объеме",
        ДатаПер=_date(document.issued_on),
        ДатаНачПер=_date(document.month),
        ДатаОконПер=_date(last_day(document.month)),
    )
    invoices = {
        (line["invoice"], line["invoice_day"]) for line in document.lines if line["invoice"]
    }
    for number, day in sorted(invoices, key=lambda invoice: (invoice[1], invoice[0])):
        SubElement(
            transfer,
            "ОснПер",
            РеквНаимДок="Счет на оплату",
            РеквНомерДок=number,
            РеквДатаДок=_date(date.fromisoformat(day)),
        )
    if not invoices:
        SubElement(transfer, "БезДокОснПер").text = "1"


def _signer(body: Element, document: Document) -> None:
    signer = SubElement(
        body, "Подписант", СпосПодтПолном=BY_SIGNATURE, ДатаПодДок=_date(document.issued_on)
    )
    name = parse_name(document.seller.get("head", ""))
    assert name is not None  # noqa: S101 - see can_render
    _full_name(signer, name)


def _full_name(element: Element, name: Name) -> None:
    full = SubElement(element, "ФИО", Фамилия=name.last, Имя=name.first)
    if name.middle:
        full.set("Отчество", name.middle)


def _proprietor(party: dict[str, Any]) -> Name | None:
    """The names of a proprietor: «ИП Иванов Иван Иванович» is not a name of an organisation."""
    name = party["name"].strip()
    for prefix in PROPRIETORS:
        if name.lower().startswith(f"{prefix} "):
            return parse_name(name[len(prefix) :])
    return parse_name(name)


def parse_name(text: str) -> Name | None:
    """Parses «Иванов Иван Иванович», «Иванов И. И.», «И. И. Иванов», or an unambiguous «Иванов
    Иван».

    None for anything else, such as «Глава КФХ Иванов Иван» or «Фермер Иванов И. И.»: a wrong name
    in a tax document is worse than none, and a person can make the document by hand.
    """
    names = text.replace(".", ". ").split()
    if names and names[0].endswith(".") and not names[-1].endswith("."):
        names = [names[-1], *names[:-1]]
    if len(names) not in {2, 3, 4} or not all(_WORD.fullmatch(word) for word in names):
        return None
    last, first, *middle = names
    is_order_known = not (last.endswith(".") or _is_patronymic(last) or _is_patronymic(first))
    if first.endswith("."):
        is_known = all(word.endswith(".") for word in middle)
    elif middle:
        length = 1 + (middle[-1].lower() in _OF_TWO_WORDS)
        is_known = _is_patronymic(middle[-1]) and len(middle) == length
    else:
        is_known = _is_surname(last) and not _is_surname(first)
    if not (is_order_known and is_known and _NOT_NAMES.isdisjoint(map(str.lower, names))):
        return None
    return Name(last[:60], first[:60], " ".join(middle)[:60])


def _is_surname(word: str) -> bool:
    return bool(_SURNAME.fullmatch(word.lower()))


def _is_patronymic(word: str) -> bool:
    return word.lower().endswith(_PATRONYMIC)


def _date(day: date) -> str:
    return f"{day:%d.%m.%Y}"


def _sum(amount: Decimal) -> str:
    return f"{amount.quantize(_CENT, ROUND_HALF_UP):f}"
