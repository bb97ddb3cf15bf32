"""Renders closing documents and advance invoices as A4 PDF. The same row gives the same bytes.

In Russia the form has the fields of the tax service's УПД: with VAT an invoice and an act
(status 1), without it an act (status 2).
"""

from decimal import Decimal
from typing import Any

from django.utils import translation
from django.utils.formats import date_format, number_format
from django.utils.translation import gettext as _
from django.utils.translation import pgettext
from fpdf import FPDF

from billing.documents.upd_xml import CURRENCIES, NO_TAX, rate_text, unit_price
from billing.models import Document
from billing.orders import vat_rates
from billing.orders.pdf import (
    DRAWING,
    FONT_FAMILY,
    LINE,
    SMALL,
    TEXT,
    grid,
    heading,
    new_sheet,
    paragraph,
)
from billing.wallet.amounts import money
from storage.months.calendar import last_day

WIDTH = 267  # mm
LABEL_WIDTH = 70
DASH = "—"


def draw(document: Document) -> bytes:
    with DRAWING.turn(document.company_id), translation.override(document.language):
        name = title(document)
        pdf = new_sheet(name, document.language, document.created_at, is_landscape=True)
        if document.kind == Document.Kind.CLOSING and is_russian(document):
            _status(pdf, document)
        heading(pdf, name)
        pdf.ln(2)
        _facts(pdf, document)
        _table(pdf, document)
        _footer(pdf, document)
        return bytes(pdf.output())


def is_russian(document: Document) -> bool:
    return str(document.buyer.get("country", "RU")) == "RU"


def title(document: Document) -> str:
    day = date_format(document.issued_on, pgettext("invoice", "j E Y"))
    values = {"number": document.number, "date": day}
    if document.kind == Document.Kind.ADVANCE:
        return _("Advance invoice No. %(number)s of %(date)s") % values
    if not is_russian(document):
        return _("Act of services No. %(number)s of %(date)s") % values
    if document.vat is None:
        return _("Transfer document (act) No. %(number)s of %(date)s") % values
    return _("Invoice and transfer document No. %(number)s of %(date)s") % values


def _status(pdf: FPDF, document: Document) -> None:
    status = "2" if document.vat is None else "1"
    pdf.set_font(FONT_FAMILY, size=SMALL)
    lines = (
        _("Universal transfer document. Status: %(status)s") % {"status": status},
        _("1: invoice and transfer document (act); 2: transfer document (act)"),
    )
    for text in lines:
        pdf.multi_cell(0, 4, text, align="R", new_x="LMARGIN", new_y="NEXT")
    pdf.set_font(FONT_FAMILY, size=TEXT)


def _facts(pdf: FPDF, document: Document) -> None:
    pdf.set_font(FONT_FAMILY, size=SMALL + 0.5)
    for label, text in details(document):
        pdf.cell(LABEL_WIDTH, LINE, f"{label}:")
        pdf.multi_cell(WIDTH - LABEL_WIDTH, LINE, text, align="L", new_x="LMARGIN", new_y="NEXT")
    pdf.ln(3)


def details(document: Document) -> list[tuple[str, str]]:
    """The lines above the table, with their numbers in the Russian form."""
    seller, buyer = document.seller, document.buyer
    if not is_russian(document):
        return [
            (_("Supplier"), _party_line(seller)),
            (_("Customer"), _party_line(buyer)),
            (_("Period"), period(document)),
        ]
    code, name = CURRENCIES.get(document.currency, ("", document.currency))
    rows = [
        (_("Seller (2)"), seller["name"]),
        (_("Address (2a)"), seller["address"] or DASH),
        (_("INN/KPP of the seller (2b)"), _numbers(seller)),
        (_("Payment document (5)"), _payments(document) or DASH),
        (_("Buyer (6)"), buyer["name"]),
        (_("Address (6a)"), buyer["address"] or DASH),
        (_("INN/KPP of the buyer (6b)"), _numbers(buyer)),
        (_("Currency (7)"), f"{name}, {code}"),
    ]
    if document.kind == Document.Kind.CLOSING:
        shipped = f"{document.number}, {document.issued_on:%d.%m.%Y}"
        rows.insert(4, (_("Document on delivery (5a)"), shipped))
        rows.insert(3, (_("Shipper (3), consignee (4)"), DASH))
        rows.append((_("Period of the services"), period(document)))
        rows.append((_("Basis of transfer"), _invoices(document) or DASH))
    return rows


def period(document: Document) -> str:
    if document.month is None:
        return DASH
    return f"{document.month:%d.%m.%Y} – {last_day(document.month):%d.%m.%Y}"


def _party_line(party: dict[str, Any]) -> str:
    return ", ".join(filter(None, (party["name"], party["inn"], party["address"])))


def _numbers(party: dict[str, Any]) -> str:
    return "/".join(filter(None, (party["inn"], party.get("kpp", "")))) or DASH


def _payments(document: Document) -> str:
    payments = sorted(
        {(line["payment_day"], line["payment"]) for line in document.lines if line["payment"]}
    )
    return ", ".join(f"№ {number} {_day(day)}" for day, number in payments)


def _invoices(document: Document) -> str:
    invoices = sorted(
        {(line["invoice_day"], line["invoice"]) for line in document.lines if line["invoice"]}
    )
    return ", ".join(
        _("invoice %(number)s of %(date)s") % {"number": number, "date": _day(day)}
        for day, number in invoices
    )


def _day(text: str) -> str:
    year, month, day = text.split("-")
    return f"{day}.{month}.{year}"


def _table(pdf: FPDF, document: Document) -> None:
    pdf.set_font(FONT_FAMILY, size=SMALL)
    aligns = ("CENTER", "LEFT", "CENTER", *(["RIGHT"] * 6))
    with grid(pdf, (8, 78, 16, 24, 26, 28, 20, 28, 39), aligns) as table:
        table.row(
            (
                "№",
                _("Goods, works, services"),
                _("Unit"),
                _("Quantity"),
                _("Price"),
                _("Without tax"),
                _("Tax rate"),
                _("Tax"),
                _("With tax"),
            )
        )
        for number, line in enumerate(document.lines, 1):
            table.row(_cells(document, number, line))
        net = document.amount - (document.vat or 0)
        row = table.row()
        row.cell(_("Total"), colspan=5)
        row.cell(_amount_text(document, net) if document.kind == Document.Kind.CLOSING else DASH)
        row.cell("")
        row.cell(_tax(document, document.vat))
        row.cell(_amount_text(document, document.amount))
    pdf.ln(4)
    pdf.set_font(FONT_FAMILY, size=TEXT)


def _cells(document: Document, number: int, line: dict[str, Any]) -> tuple[str, ...]:
    amount = Decimal(line["amount"])
    vat = Decimal(line["vat"]) if line["vat"] is not None else None
    rate = rate_text(line["vat_rate"])
    rate = _("no VAT") if rate == NO_TAX else rate
    end = (rate, _tax(document, vat), _amount_text(document, amount))
    if document.kind == Document.Kind.ADVANCE:
        name = _("Advance payment: tokens of the Kvitok service")
        return (str(number), name, DASH, DASH, DASH, DASH, *end)
    return (
        str(number),
        _("Delivery of messages by the Kvitok service, tokens"),
        _("pcs."),
        f"{line['tokens']:,}".replace(",", "\u00a0"),
        _price(line, document.language),
        _amount_text(document, amount - (vat or 0)),
        *end,
    )


def _price(line: dict[str, Any], language: str) -> str:
    price = Decimal(unit_price(line)).quantize(Decimal("0.000001")).normalize()
    places = max(2, -int(price.as_tuple().exponent))
    with translation.override(language):
        return number_format(price, places, use_l10n=True)


def _tax(document: Document, vat: Decimal | None) -> str:
    return _("no VAT") if vat is None else _amount_text(document, vat)


def _amount_text(document: Document, amount: Decimal) -> str:
    return money(amount, document.currency)


def _footer(pdf: FPDF, document: Document) -> None:
    if note := vat_rates.reverse_charge_note(document.buyer, has_vat=document.vat is not None):
        paragraph(pdf, note)
        pdf.ln(2)
    if document.kind == Document.Kind.CLOSING:
        paragraph(pdf, _("The services were rendered in full. The customer has no claims."))
        pdf.ln(4)
    seller, buyer = document.seller, document.buyer
    signer = seller.get("head") or ""
    column = WIDTH / 2 - 5
    pdf.cell(column, LINE, f"{_('On behalf of the supplier')}: {seller['name']}"[:90])
    if document.kind == Document.Kind.CLOSING:
        pdf.cell(column, LINE, f"{_('On behalf of the customer')}: {buyer['name']}"[:90])
    pdf.ln(LINE + 5)
    pdf.cell(column, LINE, f"____________________ / {signer} /")
    if document.kind == Document.Kind.CLOSING:
        pdf.cell(column, LINE, "____________________ / ____________________ /")
    pdf.ln(LINE)
