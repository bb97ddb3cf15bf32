"""Renders the statement of a period and the act of reconciliation as A4 PDF."""

from collections.abc import Sequence
from decimal import Decimal

from django.utils import timezone, translation
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from fpdf import FPDF

from billing.documents.period_statement import Period, PeriodStatement, Turnover
from billing.documents.reconciliation_act import Account, ReconciliationAct
from billing.models import Transfer
from billing.orders.pdf import (
    BOLD,
    DRAWING,
    FONT_FAMILY,
    SMALL,
    TEXT,
    grid,
    heading,
    new_sheet,
    paragraph,
)
from billing.wallet import statement as statements
from billing.wallet.amounts import money
from storage.months.calendar import last_day

MAX_TRANSFERS = 1000  # rows in one file; the CSV statement has all


def draw_statement(statement: PeriodStatement, language: str) -> bytes:
    with DRAWING.turn(statement.company.pk), translation.override(language):
        title = _("Statement of %(company)s") % {"company": statement.company.one_line_name}
        pdf = new_sheet(title, language, statement.created_at, is_landscape=True)
        heading(pdf, title)
        zone = timezone.get_default_timezone_name()
        paragraph(pdf, f"{_days(statement.first, statement.last)}, {zone}")
        pdf.ln(3)
        _tokens_table(pdf, statement)
        if any(period.money for period in statement.periods):
            _money_table(pdf, statement)
        _transfers_table(pdf, statement.transfers)
        _seals(pdf, statement)
        return bytes(pdf.output())


def _days(first: object, last: object) -> str:
    return f"{first:%d.%m.%Y} – {last:%d.%m.%Y}"


def _tokens_table(pdf: FPDF, statement: PeriodStatement) -> None:
    paragraph(pdf, _("Tokens"), is_bold=True)
    titles = (
        _("Period"),
        _("Opening balance"),
        _("Bought"),
        _("Granted"),
        _("Withdrawn"),
        _("Spent"),
        _("Closing balance"),
    )
    rows = [
        (_period_title(period), *map(_token_count, period.tokens)) for period in statement.periods
    ]
    total = (_("Total"), *map(_token_count, statement.tokens)) if len(rows) > 1 else None
    _table(pdf, titles, rows, total=total)


def _money_table(pdf: FPDF, statement: PeriodStatement) -> None:
    paragraph(pdf, _("Prepaid money"), is_bold=True)
    titles = (
        _("Period"),
        _("Opening balance"),
        _("Received"),
        _("Refunded"),
        _("Charged"),
        _("Closing balance"),
    )
    rows = [
        (_period_title(period), *_amounts(turnover))
        for period in statement.periods
        for turnover in period.money
    ]
    totals = [(_("Total"), *_amounts(turnover)) for turnover in statement.money]
    _table(pdf, titles, [*rows, *totals] if len(statement.periods) > 1 else rows)
    note = _("Charges are booked at the end of each month, by the prices of the top-ups used.")
    paragraph(pdf, note)
    pdf.ln(3)


def _amounts(row: Turnover) -> list[str]:
    sums = (row.opening, row.received, row.refunded, row.charged, row.closing)
    return [money(amount, row.currency) for amount in sums]


def _transfers_table(pdf: FPDF, transfers: Sequence[Transfer]) -> None:
    if not transfers:
        return
    paragraph(pdf, _("Top-ups, grants and withdrawals"), is_bold=True)
    rows = [
        (
            f"{timezone.localtime(row.created_at, timezone.get_default_timezone()):%d.%m.%Y %H:%M}",
            str(row.get_kind_display()),
            row.reason,
            f"{statements.balance_change(row.kind, row.amount):+,}".replace(",", "\u00a0"),
        )
        for row in transfers[:MAX_TRANSFERS]
    ]
    titles = (_("Time"), _("Operation"), _("Note"), _("Tokens"))
    _table(pdf, titles, rows, widths=(40, 50, 137, 40))
    if len(transfers) > MAX_TRANSFERS:
        paragraph(pdf, _("The rest is in the CSV statement."))


def _seals(pdf: FPDF, statement: PeriodStatement) -> None:
    sealed = [(period, period.seal) for period in statement.periods if period.seal]
    if not sealed:
        return
    paragraph(pdf, _("Seals"), is_bold=True)
    note = _(
        "A seal is a hash of all operations up to the end of the month (UTC). With it and the CSV "
        "statement kvitok-verify proves that nothing was changed later."
    )
    paragraph(pdf, note)
    rows = [(_period_title(period), seal.head) for period, seal in sealed]
    _table(pdf, (_("Month"), _("Hash")), rows, widths=(60, 207))


def _period_title(period: Period) -> str:
    if period.first.day == 1 and period.last == last_day(period.first):
        return date_format(period.first, "F Y")
    return _days(period.first, period.last)


def _token_count(number: int) -> str:
    return f"{number:,}".replace(",", "\u00a0")


def _table(
    pdf: FPDF,
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    total: Sequence[str] | None = None,
    widths: Sequence[int] | None = None,
) -> None:
    pdf.set_font(FONT_FAMILY, size=SMALL)
    names = ("Period", "Note", "Operation", "Time", "Month", "Hash", "Day", "Entry")
    texts = set(map(_, names))
    aligns = ["LEFT" if title in texts else "RIGHT" for title in titles]
    with grid(pdf, widths, aligns) as table:
        table.row(titles)
        for row in rows:
            table.row(row)
        if total:
            table.row(total, style=BOLD)
    pdf.ln(4)
    pdf.set_font(FONT_FAMILY, size=TEXT)


def draw_act(act: ReconciliationAct, language: str) -> bytes:
    with DRAWING.turn(act.company.pk), translation.override(language):
        title = _("Act of reconciliation")
        pdf = new_sheet(title, language, timezone.now())
        heading(pdf, title)
        paragraph(pdf, _days(act.first, act.last))
        sides = {"seller": act.seller.get("name", ""), "buyer": act.buyer["name"]}
        paragraph(pdf, _("between %(seller)s and %(buyer)s") % sides)
        pdf.ln(3)
        for account in act.accounts:
            _account(pdf, act, account)
        if not act.accounts:
            paragraph(pdf, _("There were no payments and no charges."))
        pdf.ln(10)
        for name in sides.values():
            paragraph(pdf, f"{name}: ____________________ / ____________________ /")
            pdf.ln(5)
        return bytes(pdf.output())


def _account(pdf: FPDF, act: ReconciliationAct, account: Account) -> None:
    titles = (_("Day"), _("Entry"), _("Debit"), _("Credit"))
    rows = [
        (f"{act.first:%d.%m.%Y}", _("Balance at the beginning"), *_sides(account, account.opening))
    ]
    rows += [
        (
            f"{row.day:%d.%m.%Y}",
            row.title,
            money(row.debit, account.currency) if row.debit else "",
            money(row.credit, account.currency) if row.credit else "",
        )
        for row in account.rows
    ]
    turnover = (money(account.debit, account.currency), money(account.credit, account.currency))
    rows.append(("", _("Turnover"), *turnover))
    closing = (f"{act.last:%d.%m.%Y}", _("Balance at the end"), *_sides(account, account.closing))
    _table(pdf, titles, rows, total=closing, widths=(24, 96, 30, 30))
    paragraph(pdf, _conclusion(act, account))
    pdf.ln(3)


def _sides(account: Account, balance: Decimal) -> tuple[str, str]:
    """The balance's debit and credit columns: the seller's debt is on the credit side."""
    text = money(abs(balance), account.currency)
    return ("", text) if balance >= 0 else (text, "")


def _conclusion(act: ReconciliationAct, account: Account) -> str:
    closing = account.closing
    values = {
        "date": f"{act.last:%d.%m.%Y}",
        "sum": money(abs(closing), account.currency),
        "seller": act.seller.get("name", ""),
        "buyer": act.buyer["name"],
    }
    if not closing:
        return _("On %(date)s neither side owes anything.") % values
    if closing > 0:
        return _("On %(date)s %(seller)s owes %(buyer)s %(sum)s (prepaid).") % values
    return _("On %(date)s %(buyer)s owes %(seller)s %(sum)s.") % values
