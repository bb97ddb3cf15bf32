"""The statement as a spreadsheet."""

from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext

from accounts.models import Member
from api.pagination import Position
from billing.models import Transfer
from billing.wallet import statement
from billing.wallet.statement import Line
from billing.web.forms import StatementFilter
from cabinet.csv_exports import CsvKind, Download, Selection
from cabinet.spreadsheets import Row
from catalogue.ids import public_id
from parsing.days import local_time


class StatementCsv(CsvKind):
    name = "statement"
    title = gettext_lazy("Statement")
    page = "balance-statement"
    action = "statement.exported"
    model = Transfer
    max_rows = None  # the proof of a statement needs all its lines
    is_oldest_first = True

    def allows(self, member: Member) -> bool:
        return member.can_see_money

    def form(self, query: QueryDict, member: Member) -> StatementFilter:
        return StatementFilter(query)

    def select(self, download: Download) -> Selection:
        lines = statement.lines_of(download.member.company, download.filters)
        return Selection(lines.rows, lines.history)

    def headings(self) -> list[str]:
        return [
            _("Time"),
            _("Operation"),
            _("Tokens"),
            pgettext("tokens", "Change"),
            _("Balance"),
            _("Message"),
            _("Note"),
            _("Sealed line"),
        ]

    def part(self, download: Download, start: Position | None) -> tuple[list[Row], Position | None]:
        company, filters = download.member.company, download.filters
        opening = statement.opening_of(company, filters)
        lines, end = statement.lines_after(company, filters, start)
        rows: list[Row] = [self.cells(line, download.member) for line in lines]
        if opening and start is None:
            at, title = local_time(opening.at), _("Opening balance")
            rows.insert(0, [at, title, "", "", opening.balance, "", "", ""])
        return rows, end

    def cells(self, row: tuple[Line, int], member: Member) -> list[str | int]:
        line, balance = row
        return [
            local_time(line.created_at),
            str(Transfer.Kind(line.kind).label),
            line.amount,
            statement.balance_change(line.kind, line.amount),
            balance,
            public_id("msg", line.message_id) if line.message_id else "",
            line.reason,
            line.sealed_line,
        ]

    def subject(self, filters: Any) -> str:
        return ", ".join(f"{name}={value}" for name, value in filters.items()) or "—"
