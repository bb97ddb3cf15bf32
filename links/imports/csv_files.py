"""Reads the rows of a CSV file as spreadsheets write it."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

MAX_BYTES = 2 * 2**20
MAX_ROWS = 10_000
MAX_CELL = 5000  # characters; what is longer is cut, and is no URL
TITLES = {"url": _("address"), "alias": _("custom name"), "expires_in": _("lifetime")}
COLUMNS = tuple(TITLES)
SEPARATORS = ",;\t"
_QUOTED = re.compile(r'"[^"]*"')
ENCODINGS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}


@dataclass(frozen=True, slots=True)
class CsvRows:
    rows: list[dict[str, str]]  # by name of the column, without empty cells
    ignored: list[str]  # titles of columns that mean nothing here


def read(content: bytes) -> CsvRows:
    """Raises a ValidationError for what is no table of links.

    With a header, columns go by their titles; without one they are url, alias, expires_in.
    """
    if len(content) > MAX_BYTES:
        raise ValidationError(_("The file is larger than 2 MB: split it."))
    lines = _lines(_decode(content))
    first = next(lines, None)
    if first is None:
        raise ValidationError(_("The file is empty."))
    titles = [cell.lower() for cell in first]
    if "url" in titles:
        rows = _take(lines, titles)
        ignored = [cell for cell in first if cell and cell.lower() not in COLUMNS]
    else:
        rows = [_row(first, COLUMNS), *_take(lines, COLUMNS)]
        ignored = []
    return CsvRows(_checked(rows), ignored)


def _decode(content: bytes) -> str:
    """UTF-8, or what older spreadsheets save: UTF-16 with its mark, Windows-1251."""
    encoding = next((name for mark, name in ENCODINGS.items() if content.startswith(mark)), "utf-8")
    for name in (encoding, "cp1251"):
        try:
            text = content.decode(name)
        except UnicodeError:
            continue
        if "\x00" not in text:
            return text
    raise ValidationError(_("This is not a text file: save the table as CSV."))


def _lines(text: str) -> Iterator[list[str]]:
    """The rows that hold anything."""
    head = _QUOTED.sub("", text[:MAX_CELL].lstrip().partition("\n")[0])
    separator = max(SEPARATORS, key=head.count)
    try:
        for cells in csv.reader(StringIO(text, newline=""), delimiter=separator):
            stripped = [cell.strip()[:MAX_CELL] for cell in cells]
            if any(stripped):
                yield stripped
    except csv.Error:
        raise ValidationError(_("This is not a CSV file: save the table as CSV.")) from None


def _take(lines: Iterator[list[str]], titles: Sequence[str]) -> list[dict[str, str]]:
    rows = []
    for cells in lines:
        rows.append(_row(cells, titles))
        if len(rows) > MAX_ROWS:
            break
    return rows


def _row(cells: Sequence[str], titles: Sequence[str]) -> dict[str, str]:
    named = zip(titles, cells, strict=False)
    return {title: cell for title, cell in named if title in COLUMNS and cell}


def _checked(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    if not rows:
        raise ValidationError(_("The file has a header, but no rows."))
    if len(rows) > MAX_ROWS:
        raise ValidationError(_("A file may have at most 10,000 rows: split it."))
    return rows
