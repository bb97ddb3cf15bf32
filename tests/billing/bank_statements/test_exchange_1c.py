"""Statements as files, in both encodings that banks write."""

from datetime import date
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError

from billing.bank_statements import exchange_1c

ACCOUNT = "40702810110011000430"
# The sections and fields of the published format, as a bank's cabinet exports them.
FILE = f"""1CClientBankExchange
ВерсияФормата=1.03
Кодировка=Windows
Отправитель=Бизнес-кабинет
Получатель=
ДатаСоздания=25.11.2026
ДатаНачала=25.11.2026
ДатаКонца=25.11.2026
РасчСчет={ACCOUNT}
СекцияРасчСчет
ДатаНачала=25.11.2026
РасчСчет={ACCOUNT}
НачальныйОстаток=100.00
КонецРасчСчет
СекцияДокумент=Платежное поручение
Номер=17
Дата=24.11.2026
Сумма=1900.00
ПлательщикСчет=40702810900000000099
Плательщик=ИНН 7800000002 ООО "Ромашка"
ПлательщикИНН=7800000002
Плательщик1=ООО "Ромашка"
ПолучательСчет={ACCOUNT}
ДатаПоступило=25.11.2026
Получатель=ООО "Продавец"
ПолучательИНН=7700000005
НазначениеПлатежа=Оплата счета 2026-17, сумма = 1900
КонецДокумента
СекцияДокумент=Платежное поручение
Номер=4
Дата=25.11.2026
Сумма=10,50
ПлательщикСчет={ACCOUNT}
ДатаСписано=25.11.2026
ПолучательСчет=40702810900000000099
ПолучательИНН=7800000002
НазначениеПлатежа=Возврат по счету 2026-17
КонецДокумента
СекцияДокумент=Платежное поручение
Номер=5
Дата=25.11.2026
Сумма=7.00
ПлательщикСчет=40702810900000000011
ПолучательСчет=40702810900000000012
КонецДокумента
СекцияДокумент=Платежное поручение
Номер=6
Сумма=много
ПлательщикСчет={ACCOUNT}
ПолучательСчет=40702810900000000012
КонецДокумента
КонецФайла
"""


@pytest.mark.parametrize("encoding", ["windows-1251", "utf-8", "utf-8-sig"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_lines_of_our_account(encoding: str, newline: str) -> None:
    raw = FILE.replace("\n", newline).encode(encoding)

    (incoming, outgoing), unread = exchange_1c.parse(raw, account=ACCOUNT)

    assert unread == 1
    assert (incoming.is_incoming, incoming.amount) == (True, Decimal("1900.00"))
    assert (incoming.documented_on, incoming.booked_on) == (date(2026, 11, 24), date(2026, 11, 25))
    assert (incoming.party_inn, incoming.party_name) == ("7800000002", 'ООО "Ромашка"')
    assert incoming.purpose == "Оплата счета 2026-17, сумма = 1900"
    assert (outgoing.is_incoming, outgoing.amount) == (False, Decimal("10.50"))


@pytest.mark.parametrize("raw", [b"", b"PK\x03\x04\x98\xff", "Дата;Сумма".encode(), b"\x98\x00"])
def test_other_files_are_refused(raw: bytes) -> None:
    with pytest.raises(ValidationError):
        exchange_1c.parse(raw, account=ACCOUNT)
