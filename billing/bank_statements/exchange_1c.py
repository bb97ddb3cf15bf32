"""A statement as a file: 1CClientBankExchange, which any bank in Russia exports.

https://v8.1c.ru/tekhnologii/obmen-dannymi-i-integratsiya/standarty-i-formaty/
standart-obmena-s-sistemami-klient-banka/formaty-obmena/
"""

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from billing.bank_statements.lines import StatementLine

SOURCE = "file"
HEAD = "1CClientBankExchange"
MOST_BYTES = 10 * 2**20
NOT_A_STATEMENT = _("This is not a statement in the format 1CClientBankExchange.")
KOPECK = Decimal("0.01")


def parse(raw: bytes, *, account: str) -> tuple[list[StatementLine], int]:
    """The lines of this account, and how many documents could not be read."""
    text = _text(raw)
    if not text.lstrip().startswith(HEAD):
        raise ValidationError(NOT_A_STATEMENT, code="format")
    lines, unread = [], 0
    for document in _documents(text):
        if account not in {document.get("ПлательщикСчет"), document.get("ПолучательСчет")}:
            continue
        try:
            lines.append(_line(document, account))
        except (KeyError, ValueError, ArithmeticError):
            unread += 1
    return lines, unread


def _text(raw: bytes) -> str:
    """The file says Кодировка=Windows, and may be UTF-8 all the same."""
    for encoding in ("utf-8-sig", "windows-1251"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise ValidationError(NOT_A_STATEMENT, code="format")


def _documents(text: str) -> list[dict[str, str]]:
    documents: list[dict[str, str]] = []
    current: dict[str, str] | None = None
    for row in text.splitlines():
        name, _equals, value = row.strip().partition("=")
        if name == "СекцияДокумент":
            current = {}
        elif name == "КонецДокумента" and current is not None:
            documents.append(current)
            current = None
        elif current is not None:
            current.setdefault(name, value.strip())
    return documents


def _line(document: Mapping[str, str], account: str) -> StatementLine:
    is_incoming = document["ПолучательСчет"] == account
    party = "Плательщик" if is_incoming else "Получатель"
    booked = document.get("ДатаПоступило" if is_incoming else "ДатаСписано")
    documented_on = _day(document["Дата"])
    amount = Decimal(document["Сумма"].replace(",", ".")).quantize(KOPECK)
    if amount <= 0:
        raise ValueError(amount)
    return StatementLine(
        source=SOURCE,
        account=account,
        is_incoming=is_incoming,
        document_number=document.get("Номер", "")[:30],
        documented_on=documented_on,
        booked_on=_day(booked) if booked else documented_on,
        amount=amount,
        currency="RUB" if account[5:8] == "810" else account[5:8],
        party_name=(document.get(f"{party}1") or document.get(party, ""))[:200],
        party_inn=document.get(f"{party}ИНН", "")[:12],
        party_account=document.get(f"{party}Счет", "")[:34],
        purpose=document.get("НазначениеПлатежа", "")[:500],
    )


def _day(text: str) -> date:
    return datetime.strptime(text, "%d.%m.%Y").date()  # noqa: DTZ007 - a day has no zone
