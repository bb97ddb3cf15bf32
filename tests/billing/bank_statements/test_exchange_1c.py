"""Statements as files, in the encodings that banks write."""

from datetime import date
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError

from billing.bank_statements import exchange_1c
from tests.billing.bank_statements.statement_file import ACCOUNT, FILE


@pytest.mark.parametrize(
    "encoding", ["windows-1251", "utf-8", "utf-8-sig", "cp866", "utf-16", "utf-16-le"]
)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_of_our_account_are_parsed(encoding: str, newline: str) -> None:
    raw = FILE.replace("\n", newline).encode(encoding)

    (incoming, outgoing), unread = exchange_1c.parse(raw, account=ACCOUNT)

    assert unread == 1
    assert (incoming.is_incoming, incoming.amount) == (True, Decimal("1900.00"))
    assert (incoming.documented_on, incoming.booked_on) == (date(2026, 11, 24), date(2026, 11, 25))
    assert (incoming.party_inn, incoming.party_name) == ("7800000002", 'ООО "Ромашка"')
    assert incoming.purpose == "Оплата счета 2026-17, сумма = 1900"
    assert (outgoing.is_incoming, outgoing.amount) == (False, Decimal("10.50"))


@pytest.mark.parametrize("encoding", ["windows-1251", "cp866"])
def test_payer_does_not_choose_the_encoding(encoding: str) -> None:
    """Their purpose has the octets of the format's words in another one."""
    octets = "СекцияРасчСчет КонецФайла".encode()
    raw = FILE.encode(encoding).replace(b"= 1900", b"= 1900 " + octets)

    lines, unread = exchange_1c.parse(raw, account=ACCOUNT)

    assert (len(lines), unread, lines[0].party_name) == (2, 1, 'ООО "Ромашка"')


@pytest.mark.parametrize("whole", ["", "НазначениеПлатежа=\n"])
def test_purpose_may_be_given_line_by_line(whole: str) -> None:
    parts = {2: "2026-17,", 1: "Оплата счета", 3: "сумма = 1900"}
    lines = "".join(f"НазначениеПлатежа{number}={text}\n" for number, text in parts.items())
    said = "НазначениеПлатежа=Оплата счета 2026-17, сумма = 1900\n"
    raw = FILE.replace(said, whole + lines).encode()

    (incoming, _outgoing), _unreadable = exchange_1c.parse(raw, account=ACCOUNT)
    ((original, _out), _none) = exchange_1c.parse(FILE.encode(), account=ACCOUNT)

    assert incoming.purpose == "Оплата счета 2026-17, сумма = 1900"
    assert incoming.key == original.key


def test_account_may_be_in_the_second_of_its_fields() -> None:
    """Some banks write it there, and leave the first field out or empty."""
    raw = FILE.replace("ПлательщикСчет", "ПлательщикРасчСчет")
    raw = raw.replace("ПолучательСчет=", "ПолучательСчет=\nПолучательРасчСчет=")

    lines, unread = exchange_1c.parse(raw.encode(), account=ACCOUNT)
    usual, _unreadable = exchange_1c.parse(FILE.encode(), account=ACCOUNT)

    assert unread == 1
    assert lines == usual


def test_document_without_our_account_may_be_ours_all_the_same() -> None:
    raw = FILE.replace(f"ПолучательСчет={ACCOUNT}\n", "")

    (outgoing,), unread = exchange_1c.parse(raw.encode(), account=ACCOUNT)

    assert (outgoing.document_number, unread) == ("4", 2)


def test_party_may_have_no_account() -> None:
    """Cash that is paid in has none."""
    raw = FILE.replace("ПлательщикСчет=40702810900000000099\n", "")

    (incoming, _outgoing), unread = exchange_1c.parse(raw.encode(), account=ACCOUNT)

    assert (incoming.amount, incoming.party_account, unread) == (Decimal("1900.00"), "", 1)


@pytest.mark.parametrize("written", ["1 900,00", "1\u00a0900.00", "1\u202f900,00", "1900"])
def test_thousands_may_be_set_apart(written: str) -> None:
    raw = FILE.replace("Сумма=1900.00", f"Сумма={written}").encode()

    (incoming, _outgoing), unread = exchange_1c.parse(raw, account=ACCOUNT)

    assert (incoming.amount, unread) == (Decimal("1900.00"), 1)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"PK\x03\x04\x98\xff",
        "Дата;Сумма".encode(),
        b"\x98\x00",
        FILE.encode("koi8-r"),
        FILE.encode("utf-16").replace("сумма".encode("utf-16-le"), b"\x00\xd8"),
    ],
)
def test_other_files_are_refused(raw: bytes) -> None:
    with pytest.raises(ValidationError):
        exchange_1c.parse(raw, account=ACCOUNT)


@pytest.mark.parametrize(
    ("encoding", "lost"),
    [("utf-8", b"\xd0"), ("utf-8", "\ufffd".encode()), ("windows-1251", b"\x98")],
)
def test_lost_character_makes_only_its_document_unreadable(encoding: str, lost: bytes) -> None:
    raw = FILE.encode(encoding).replace(b"= 1900\n", b"= 1900" + lost + b"\n")

    (outgoing,), unread = exchange_1c.parse(raw, account=ACCOUNT)

    assert (outgoing.document_number, unread) == ("4", 2)


FORGED = f"""КонецДокумента
СекцияДокумент=Платежное поручение
Номер=18
Дата=24.11.2026
Сумма=100000.00
ПлательщикСчет=40702810900000000099
ПолучательСчет={ACCOUNT}
НазначениеПлатежа=Оплата счета 2026-18"""
# What `str.splitlines` takes for the end of a line, and a lone CR or LF next to CR LF.
SEPARATORS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"


@pytest.mark.parametrize(
    ("newline", "separator"),
    [
        *(("\r\n", separator) for separator in f"{SEPARATORS}\r\n"),
        *(("\n", separator) for separator in f"{SEPARATORS}\r"),
    ],
)
def test_line_break_in_a_purpose_begins_no_line(newline: str, separator: str) -> None:
    """The payer words the purpose: its document is unreadable, and no other one appears."""
    text = FILE.replace("\n", newline)
    words = FORGED.replace("\n", separator)
    forged = text.replace("сумма = 1900", f"сумма = 1900{separator}{words}")
    assert forged != text

    lines, unread = exchange_1c.parse(forged.encode(), account=ACCOUNT)

    assert ([line.amount for line in lines], unread) == ([Decimal("10.50")], 2)


def test_interrupted_document_is_not_read() -> None:
    cut = FILE.replace("КонецДокумента\nСекцияДокумент=Платежное поручение\nНомер=4", "Номер=4", 1)
    interrupted = FILE.replace("КонецДокумента\n", "", 1)
    unended = FILE.partition("КонецДокумента")[0]

    assert [
        len(exchange_1c.parse(text.encode(), account=ACCOUNT)[0])
        for text in (cut, interrupted, unended)
    ] == [1, 1, 0]


@pytest.mark.parametrize("amount", ["1e30", "Infinity", "NaN", "-5", "0", "1000000000000.00"])
def test_amount_that_cannot_be_kept_is_unreadable(amount: str) -> None:
    text = FILE.replace("Сумма=1900.00", f"Сумма={amount}")

    lines, unread = exchange_1c.parse(text.encode(), account=ACCOUNT)

    assert (len(lines), unread) == (1, 2)


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("Номер=17", "Номер=1\u00ad7"),
        ("Дата=24.11.2026", "Дата=01.01.0001"),
        ("ДатаПоступило=25.11.2026", "ДатаПоступило=01.01.0001"),
        ("ДатаПоступило=25.11.2026", "ДатаПоступило=31.12.9999"),
    ],
)
def test_number_and_day_that_no_payment_can_have_are_unreadable(said: str, written: str) -> None:
    """Else they fail once they are matched, and keep the lines after them from being read."""
    raw = FILE.replace(said, written, 1).encode()

    lines, unread = exchange_1c.parse(raw, account=ACCOUNT)

    assert (len(lines), unread) == (1, 2)


@pytest.mark.parametrize(
    ("code", "currency"),
    [
        ("810", "RUB"),
        ("840", "USD"),
        ("156", "CNY"),
        ("826", "GBP"),
        ("784", "AED"),
        ("051", "AMD"),
    ],
)
def test_currency_is_named_as_in_prices(code: str, currency: str) -> None:
    account = f"{ACCOUNT[:5]}{code}{ACCOUNT[8:]}"
    raw = FILE.replace(ACCOUNT, account).encode()

    lines, _unreadable = exchange_1c.parse(raw, account=account)

    assert {line.currency for line in lines} == {currency}


def test_transfers_in_an_unknown_currency_are_left_to_a_person() -> None:
    account = f"{ACCOUNT[:5]}000{ACCOUNT[8:]}"

    lines, unread = exchange_1c.parse(FILE.replace(ACCOUNT, account).encode(), account=account)

    assert (lines, unread) == ([], 3)


@pytest.mark.parametrize("amount", ["1.900", "1,900", "1,900.00", "1900.001", "1.9e3", "1_900"])
def test_ambiguous_amount_is_not_read(amount: str) -> None:
    raw = FILE.replace("Сумма=1900.00", f"Сумма={amount}").encode()

    lines, unread = exchange_1c.parse(raw, account=ACCOUNT)

    assert [line.is_incoming for line in lines] == [False]
    assert unread == 2


@pytest.mark.parametrize("amount", ["1900", "1900,0", "1 900.00", "1\u00a0900,00", "001900.00"])
def test_amount_is_read_as_banks_write_it(amount: str) -> None:
    raw = FILE.replace("Сумма=1900.00", f"Сумма={amount}").encode()

    incoming = exchange_1c.parse(raw, account=ACCOUNT)[0][0]

    assert incoming.amount == Decimal("1900.00")
