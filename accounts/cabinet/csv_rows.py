"""CSV for spreadsheets, protected against formula injection."""

import csv
from collections.abc import Iterator, Sequence

from django.utils import translation

BOM = "\ufeff"  # spreadsheets detect UTF-8 by it
SEPARATORS = {"ru": ";"}  # expected where the comma is the decimal separator
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


class _Echo:
    """A file-like object that returns what `csv` writes."""

    def write(self, line: str) -> str:
        return line


def csv_lines(rows: Iterator[Sequence[str | int]], language: str) -> Iterator[str]:
    """Stream the rows as CSV lines, each rendered in `language`, since the request's own language
    is no longer active while streaming.
    """
    separator = SEPARATORS.get(language, ",")
    # Texts are quoted, so that a reader with the other separator does not split them.
    writer = csv.writer(_Echo(), delimiter=separator, quoting=csv.QUOTE_NONNUMERIC)
    yield BOM
    while True:
        with translation.override(language):
            row = next(rows, None)
        if row is None:
            return
        yield writer.writerow([escape_formula(cell) for cell in row])


def escape_formula(cell: str | int) -> str | int:
    """Escape text that a spreadsheet would evaluate; numbers stay numbers.

    So does a phone stay whole: without its plus it would be a number, shown as 7.9E+10.
    """
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
