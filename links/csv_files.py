"""Reads the rows of a CSV file as spreadsheets, other shorteners and this service write it."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from io import StringIO
from itertools import chain

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils import translation
from django.utils.translation import gettext_lazy as _

from catalogue.texts import StrOrPromise

MAX_BYTES = 2 * 2**20
MAX_ROWS = 10_000
MAX_CELL = 5000  # characters; what is longer is cut, and is no URL
TITLES = {"url": _("address"), "alias": _("custom name"), "expires_in": _("lifetime")}
COLUMNS = tuple(TITLES)
# Other titles of the same columns: of our exports, of Bitly, Shlink and their like, of people. They
# and TITLES in every language are compared without case, spaces and punctuation.
OTHER_TITLES: dict[str, tuple[StrOrPromise, ...]] = {
    "url": (
        *("long_url", "target", "target_url", "destination", "destination_url", "original_url"),
        _("Where it leads"),
        *("ссылка", "длинная ссылка", "исходная ссылка", "url-адрес"),
    ),
    "alias": ("custom back-half", "короткое имя", "псевдоним", "алиас"),
    "expires_in": ("lifetime in seconds", "ttl", "срок действия", "срок жизни", "срок в секундах"),
}
SEPARATORS = ",;\t"
NO_SEPARATOR = "\x1f"  # of a file with one column
_QUOTED = re.compile(r'"[^"]*"')
_SEPARATOR_LINE = re.compile(r'\s*"?sep=([^\w\s"]|\t)"?[ ,;\t]*(?:\r\n|\r|\n)', re.IGNORECASE)
_PUNCTUATION = re.compile(r"[\W_]+")
_ESCAPED = re.compile(r"\A'(?=[=+\-@])")  # as our exports keep a text from being a formula
_CUT_ENTITY = re.compile(r"&(?:amp|#38|#x26)\Z", re.IGNORECASE)  # of an address taken from HTML
ENCODINGS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}

TOO_MANY_CELLS = _(
    "The row has more cells than columns: put an address with a comma or a semicolon in quotes."
)
UNQUOTED_ADDRESS = _(
    "It is unclear where the address ends: put it in quotes, or name the columns in the first row."
)


@dataclass(frozen=True, slots=True)
class CsvRows:
    rows: list[dict[str, str]]  # by name of the column, without empty cells
    ignored: list[str]  # titles of columns that mean nothing here
    faults: dict[int, StrOrPromise] = field(
        default_factory=dict
    )  # row's index → why it makes no link


@dataclass(frozen=True, slots=True)
class _Header:
    columns: Sequence[str]  # empty for a column that means nothing here
    ignored: list[str]
    is_written: bool = True


@dataclass(frozen=True, slots=True)
class _Line:
    cells: list[str]
    is_quoted: bool  # its first cell


def read(content: bytes) -> CsvRows:
    """Raises a ValidationError for anything but a table of links.

    A header names the columns; without one they are url, alias, expires_in.
    """
    if len(content) > MAX_BYTES:
        raise ValidationError(_("The file is larger than 2 MB: split it."))
    text, separator = _separated(_decode(content))
    lines = _lines(text, separator)
    first = next(lines, None)
    if first is None:
        raise ValidationError(_("The file is empty."))
    columns = [_column(cell) for cell in first.cells]
    if "url" in columns:
        ignored = [cell for cell in first.cells if cell and not _column(cell)]
        return _table(lines, _Header(columns, ignored), separator)
    return _table(chain([first], lines), _Header(COLUMNS, [], is_written=False), separator)


def _decode(content: bytes) -> str:
    """UTF-8, or what older spreadsheets save: UTF-16, Windows-1251."""
    encoding = next((name for bom, name in ENCODINGS.items() if content.startswith(bom)), None)
    for name in (encoding or _unmarked(content), "cp1251"):
        try:
            text = content.decode(name)
        except UnicodeError:
            continue
        if "\x00" not in text:
            return text
    raise ValidationError(_("This is not a text file: save the table as CSV."))


def _unmarked(content: bytes) -> str:
    """UTF-16 shows by the zero octets of the Latin letters that an address begins with."""
    head = content[:64]
    if head[1::2].count(0) > len(head) // 4:
        return "utf-16-le"
    return "utf-16-be" if head[::2].count(0) > len(head) // 4 else "utf-8"


def _separated(text: str) -> tuple[str, str]:
    """The text without a `sep=;` line, and its separator."""
    if named := _SEPARATOR_LINE.match(text):
        return text[named.end() :], named[1]
    head = text[:MAX_CELL].lstrip()
    title = head.partition("\n")[0]
    if "|" in title and "url" in map(_column, title.split("|")):
        return text, "|"
    # In a file without a header the first row may have an address alone.
    for part in (title, "" if _column(title) else head):
        bare = _QUOTED.sub("", part)
        separator = max(SEPARATORS, key=bare.count)
        if separator in bare:
            return text, separator
    return text, NO_SEPARATOR


def _lines(text: str, separator: str) -> Iterator[_Line]:
    """The rows that hold anything."""
    taken: list[str] = []  # lines of the text that the row consists of
    try:
        for cells in csv.reader(
            _noted(StringIO(text, newline=""), taken), delimiter=separator, skipinitialspace=True
        ):
            is_quoted = taken[0].lstrip().startswith('"')
            taken.clear()
            stripped = [_ESCAPED.sub("", cell.strip()[:MAX_CELL]) for cell in cells]
            if any(stripped):
                yield _Line(stripped, is_quoted)
    except csv.Error:
        raise ValidationError(_("This is not a CSV file: save the table as CSV.")) from None


def _noted(lines: Iterable[str], taken: list[str]) -> Iterator[str]:
    for line in lines:
        taken.append(line)
        yield line


def _table(lines: Iterable[_Line], header: _Header, separator: str) -> CsvRows:
    table = CsvRows([], header.ignored)
    for line in lines:
        if fault := _fault(line, header, separator):
            table.faults[len(table.rows)] = fault
            table.rows.append({"url": separator.join(line.cells)})
        else:
            table.rows.append(_row(line.cells, header.columns))
        if len(table.rows) > MAX_ROWS:
            raise ValidationError(_("A file may have at most 10,000 rows: split it."))
    if not table.rows:
        raise ValidationError(_("The file has a header, but no rows."))
    return table


def _fault(line: _Line, header: _Header, separator: str) -> StrOrPromise:
    """Why the cells cannot be told apart: an address with a separator in it must not be cut."""
    if any(line.cells[len(header.columns) :]):
        return TOO_MANY_CELLS
    is_cut = separator == "," and "?" in line.cells[0] and any(line.cells[1:])
    # An address may have one, and a list that has them as separators names its columns.
    is_unclear = is_cut or (separator == NO_SEPARATOR and "|" in line.cells[0])
    if is_unclear and not (header.is_written or line.is_quoted):
        return UNQUOTED_ADDRESS
    return UNQUOTED_ADDRESS if any(_CUT_ENTITY.search(cell) for cell in line.cells[:-1]) else ""


def _row(cells: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    row: dict[str, str] = {}
    for column, cell in zip(columns, cells, strict=False):
        if column and cell:
            row.setdefault(column, cell)
    return row


def _column(title: str) -> str:
    """The column of this title; empty for one that means nothing here."""
    return _columns_by_title().get(_plain(title), "")


@cache
def _columns_by_title() -> dict[str, str]:
    columns: dict[str, str] = {}
    for language, _name in settings.LANGUAGES:
        with translation.override(language):
            for column, title in TITLES.items():
                for written in (column, title, *OTHER_TITLES[column]):
                    columns.setdefault(_plain(str(written)), column)
    return columns


def _plain(title: str) -> str:
    return _PUNCTUATION.sub("", title).casefold()
