"""Renders an invoice as an A4 PDF. The same order gives the same bytes."""

import segno
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from fpdf import FPDF

from billing.orders.invoices import Document
from billing.orders.pdf import (
    DRAWING,
    FONT_FAMILY,
    HEADING,
    LINE,
    MARGIN,
    SMALL,
    TEXT,
    grid,
    new_sheet,
    paragraph,
)
from billing.wallet.amounts import money

WIDTH = 180  # mm
QR_SIDE = 38  # mm


def draw(document: Document) -> bytes:
    with DRAWING.turn(document.order.company_id), translation.override(document.order.language):
        order = document.order
        pdf = new_sheet(document.title, order.language, order.created_at)
        if document.order.is_open:
            _payee(pdf, document)
        _heading(pdf, document)
        _parties(pdf, document)
        _lines(pdf, document)
        _totals(pdf, document)
        _footer(pdf, document)
        return bytes(pdf.output())


def _payee(pdf: FPDF, document: Document) -> None:
    """The payee block: the Russian bank form, or free-form billing details for payers abroad."""
    seller = document.seller
    if document.is_abroad:
        pdf.multi_cell(
            WIDTH, LINE, seller["details_abroad"], border=1, new_x="LMARGIN", new_y="NEXT"
        )
        return
    with pdf.table(col_widths=(50, 50, 18, 62), line_height=LINE, first_row_as_headings=False) as t:
        row = t.row()
        row.cell(f"{seller.get('bank_name', '')}\n{_('Beneficiary bank')}", colspan=2, rowspan=2)
        row.cell(_("BIC"))
        row.cell(seller.get("bic", ""))
        row = t.row()
        row.cell(_("Acc. No."))
        row.cell(seller.get("corr_account", ""))
        row = t.row()
        row.cell(f"{_('INN')} {seller.get('inn', '')}")
        row.cell(f"{_('KPP')} {seller.get('kpp', '')}".strip())
        row.cell(_("Acc. No."), rowspan=2)
        row.cell(seller.get("account", ""), rowspan=2)
        row = t.row()
        row.cell(f"{seller.get('name', '')}\n{_('Payee')}", colspan=2)


def _heading(pdf: FPDF, document: Document) -> None:
    pdf.ln(8)
    pdf.set_font(FONT_FAMILY, "B", HEADING)
    pdf.multi_cell(WIDTH, 8, document.title, new_x="LMARGIN", new_y="NEXT")
    pdf.line(MARGIN, pdf.y + 1, MARGIN + WIDTH, pdf.y + 1)
    pdf.set_font(FONT_FAMILY, size=TEXT)
    if not document.order.is_open:
        state = f"{_('State')}: {document.order.get_state_display()}"
        pdf.ln(3)
        pdf.multi_cell(WIDTH, LINE, state, new_x="LMARGIN", new_y="NEXT")
    pdf.ln(5)


def _parties(pdf: FPDF, document: Document) -> None:
    for label, party in ((_("Supplier"), document.supplier), (_("Customer"), document.customer)):
        pdf.cell(25, LINE, f"{label}:")
        pdf.set_font(FONT_FAMILY, "B")
        pdf.multi_cell(WIDTH - 25, LINE, party, align="L", new_x="LMARGIN", new_y="NEXT")
        pdf.set_font(FONT_FAMILY, "")
        pdf.ln(2)


def _lines(pdf: FPDF, document: Document) -> None:
    order = document.order
    headings = ("№", _("Goods, works, services"), _("Quantity"), _("Unit"), _("Price"), _("Sum"))
    tokens = f"{order.tokens:,}".replace(",", " ")
    values = ("1", document.line, tokens, _("pcs."), document.price, document.total)
    aligns = ("CENTER", "LEFT", "RIGHT", "CENTER", "RIGHT", "RIGHT")
    with grid(pdf, (8, 72, 26, 14, 24, 36), aligns) as table:
        table.row(headings)
        table.row(values)
    pdf.ln(3)


def _totals(pdf: FPDF, document: Document) -> None:
    pdf.set_font(FONT_FAMILY, "B")
    total = f"{_('Total due')}: {document.total}"
    for text in (total, document.vat):
        pdf.cell(WIDTH, LINE + 0.5, text, align="R", new_x="LMARGIN", new_y="NEXT")
    pdf.set_font(FONT_FAMILY, "")
    if document.note:
        pdf.ln(2)
        paragraph(pdf, document.note)
    pdf.ln(2)
    count = _("Items: 1, to the sum of %(sum)s") % {
        "sum": money(document.order.amount, document.order.currency)
    }
    paragraph(pdf, count)
    if document.words:
        paragraph(pdf, document.words, is_bold=True)
    pdf.line(MARGIN, pdf.y + 2, MARGIN + WIDTH, pdf.y + 2)
    pdf.ln(6)


def _footer(pdf: FPDF, document: Document) -> None:
    """Draws purpose and signatures on the left, the QR code on the right."""
    top = pdf.y
    width = WIDTH - QR_SIDE - 8 if document.code else WIDTH
    for text in (*_terms(document), *_signatures(document)):
        pdf.multi_cell(width, LINE, text, align="L", new_x="LMARGIN", new_y="NEXT")
        pdf.ln(3)
    if document.code:
        _qr_code(pdf, document.code, MARGIN + WIDTH - QR_SIDE, top)


def _terms(document: Document) -> list[str]:
    """Payment terms; none on an invoice that is paid or has ended."""
    if not document.order.is_open:
        return []
    last = timezone.localtime(document.order.expires_at)
    return [
        f"{_('Purpose of payment')}: {document.purpose}",
        _("Pay by %(date)s.") % {"date": f"{last:%d.%m.%Y}"},
    ]


def _signatures(document: Document) -> list[str]:
    people = (
        (_("Head"), document.seller.get("head")),
        (_("Chief accountant"), document.seller.get("accountant")),
    )
    return [f"{title} ____________________ / {name} /" for title, name in people if name]


def _qr_code(pdf: FPDF, code: str, x: float, y: float) -> None:
    rows = list(segno.make(code, error="m", encoding="utf-8", micro=False).matrix_iter(border=0))
    side = QR_SIDE / len(rows)
    for line, row in enumerate(rows):
        for column, is_dark in enumerate(row):
            if is_dark:  # slightly wider, so that no seams show between modules
                pdf.rect(x + column * side, y + line * side, side * 1.02, side * 1.02, style="F")
    pdf.set_xy(x, y + QR_SIDE + 1)
    pdf.set_font(FONT_FAMILY, size=SMALL)
    pdf.multi_cell(QR_SIDE, 3.5, _("Scan to pay"), align="C")
