"""CSV that a spreadsheet opens as it is, and in which no cell becomes a formula."""

import csv
from collections.abc import Iterator, Sequence

from django.utils import translation

BOM = "\ufeff"  # by which a spreadsheet knows UTF-8
SEPARATORS = {"ru": ";"}  # what spreadsheets expect where the comma parts decimals
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


class _Echo:
    """What `csv` writes to, and hands back."""

    def write(self, line: str) -> str:
        return line


def csv_lines(rows: Iterator[Sequence[str | int]], language: str) -> Iterator[str]:
    """Row after row while the reader takes them, each worded in `language`: by then the request
    that asked for them has ended.
    """
    separator = SEPARATORS.get(language, ",")
    # Texts are quoted, so that a reader who takes the other separator splits none of them.
    writer = csv.writer(_Echo(), delimiter=separator, quoting=csv.QUOTE_NONNUMERIC)
    yield BOM
    while True:
        with translation.override(language):
            row = next(rows, None)
        if row is None:
            return
        yield writer.writerow([escape_formula(cell) for cell in row])


def escape_formula(cell: str | int) -> str | int:
    """A text that no spreadsheet takes for a formula; numbers stay numbers."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
