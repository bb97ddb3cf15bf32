"""A statement as a file: 1CClientBankExchange, which any bank in Russia exports.

https://v8.1c.ru/tekhnologii/obmen-dannymi-i-integratsiya/standarty-i-formaty/
standart-obmena-s-sistemami-klient-banka/formaty-obmena/
"""

import re
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from billing.bank_statements.matching import StatementLine, currency_of, is_clean
from billing.gateways.base import CENT

SOURCE = "file"
HEAD = "1CClientBankExchange"
MAX_BYTES = 3 * 2**20  # DATA_UPLOAD_MAX_MEMORY_SIZE bounds the whole form
NOT_A_STATEMENT = _("This is not a statement in the format 1CClientBankExchange.")
PURPOSE_LINES = 6
# Every statement has some of these words, readable only in the right encoding. They must begin a
# line: a payer controls only the inside of lines.
_WORDS = re.compile("[\r\n][\t ]*(ВерсияФормата|СекцияРасчСчет|СекцияДокумент|КонецФайла)")
ENCODINGS = ("utf-8-sig", "windows-1251", "cp866", "utf-16")
LOST = "\ufffd"  # a character that cannot be decoded, or that the bank itself has lost
# 1.900 may mean 1,900, or less than two.
_AMOUNT = re.compile(r"[0-9]+(?:[.,][0-9]{1,2})?")
_FIRST_LINE = re.compile(rf"\s*{HEAD}[^\r\n]*(\r\n|\r|\n)")


def parse(raw: bytes, *, account: str) -> tuple[list[StatementLine], int]:
    """The lines of this account, and the number of unreadable documents."""
    text = _decode(raw)
    documents, unreadable = _documents(text)
    lines = []
    for document in documents:
        accounts = {_account(document, "Плательщик"), _account(document, "Получатель")}
        if account not in accounts:
            unreadable += "" in accounts  # the account may be ours
            continue
        try:
            lines.append(_statement_line(document, account))
        except (KeyError, ValueError, ArithmeticError):
            unreadable += 1
    return lines, unreadable


def _decode(raw: bytes) -> str:
    """Decodes the file, whose encoding may differ from its own Кодировка=Windows or DOS."""
    for encoding in ENCODINGS:
        text = raw.decode(encoding, "replace")
        # An octet lost from UTF-16 would shift all that follow.
        is_whole = encoding != "utf-16" or LOST not in text
        if text.lstrip().startswith(HEAD) and _WORDS.search(text) and is_whole:
            return text
    raise ValidationError(NOT_A_STATEMENT, code="format")


def _documents(text: str) -> tuple[list[dict[str, str]], int]:
    """The readable documents, and the number of unreadable ones.

    Only the first line's line ending separates lines: `str.splitlines` would let the payer's own
    text begin a line. Any other control character makes its document unreadable, and so does a lost
    character, which may be a digit: some banks cut long purposes within a letter.
    """
    documents: list[dict[str, str]] = []
    current: list[str] | None = None
    unread = 0
    first = _FIRST_LINE.match(text)
    for row in text.split(first[1] if first else "\n"):
        line = row.replace("\t", " ").strip(" ")
        if line.startswith("СекцияДокумент"):
            unread += current is not None
            current = []
        elif line == "КонецДокумента" and current is not None:
            if all(is_clean(line) and LOST not in line for line in current):
                documents.append(_fields(current))
            else:
                unread += 1
            current = None
        elif current is not None:
            current.append(line)
    return documents, unread + (current is not None)


def _fields(lines: list[str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for line in lines:
        name, _equals, value = line.partition("=")
        fields.setdefault(name, value.strip(" "))
    return fields


def _statement_line(document: Mapping[str, str], account: str) -> StatementLine:
    is_incoming = _account(document, "Получатель") == account
    party = "Плательщик" if is_incoming else "Получатель"
    booked = document.get("ДатаПоступило" if is_incoming else "ДатаСписано")
    documented_on = _day(document["Дата"])
    # Some banks put spaces between thousands.
    written = "".join(document["Сумма"].split())
    if not _AMOUNT.fullmatch(written):
        raise ValueError(written)
    amount = Decimal(written.replace(",", ".")).quantize(CENT)
    if amount <= 0:
        raise ValueError(amount)
    # In one field, or in one field for each line.
    name = "НазначениеПлатежа"
    lines = (document.get(f"{name}{number}", "") for number in range(1, PURPOSE_LINES + 1))
    return StatementLine(
        source=SOURCE,
        account=account,
        is_incoming=is_incoming,
        document_number=document.get("Номер", "")[:30],
        documented_on=documented_on,
        booked_on=_day(booked) if booked else documented_on,
        amount=amount,
        currency=currency_of(account[5:8]),
        party_name=(document.get(f"{party}1") or document.get(party, ""))[:200],
        party_inn=document.get(f"{party}ИНН", "")[:12],
        party_account=_account(document, party)[:34],
        purpose=(document.get(name) or " ".join(filter(None, lines)))[:500],
    )


def _account(document: Mapping[str, str], party: str) -> str:
    """The account's digits; some banks write only the second field."""
    return document.get(f"{party}Счет") or document.get(f"{party}РасчСчет", "")


def _day(text: str) -> date:
    return datetime.strptime(text, "%d.%m.%Y").date()  # noqa: DTZ007 - a day has no zone
