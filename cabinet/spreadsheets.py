"""CSV for spreadsheets, protected against formula injection and loss of digits."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import translation
from django.utils.formats import get_format

from catalogue.languages import page_languages

BOM = "\ufeff"  # spreadsheets detect UTF-8 by it
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
# Texts that spreadsheets turn into numbers, quoted or not: they drop leading zeros, read a power of
# ten, and replace digits after the 15th by zeros.
_NUMBER = re.compile(r"0[0-9][0-9.,]*|[0-9]{16,}|[0-9]+(?:[.,][0-9]+)?[eE][+-]?[0-9]+")

Row = Sequence[str | int | Decimal]


class _Echo:
    """A file-like object that returns what `csv` writes."""

    def write(self, line: str) -> str:
        return line


def csv_download(rows: Iterable[Row], name: str) -> StreamingHttpResponse:
    """The rows as a file in the language of the request."""
    language = page_languages.active()
    return csv_response(csv_lines(rows, language), name)


def page_of_filter(request: HttpRequest, route: str) -> HttpResponse:
    """Redirects a download with an invalid filter to the page that shows its errors.

    A file with other rows than requested would look correct.
    """
    return redirect(f"{reverse(route)}?{request.GET.urlencode()}")


def csv_response(content: Iterator[str] | Iterator[bytes], name: str) -> StreamingHttpResponse:
    response = StreamingHttpResponse(content, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def csv_lines(rows: Iterable[Row], language: str, *, is_continued: bool = False) -> Iterator[str]:
    """Streams the rows as CSV lines in `language`. Only a file's first part has a BOM.

    The request's own language is no longer active while the response is streamed.
    """
    separator = page_languages.texts(language)["csv_separator"]
    # Texts are quoted, so that a reader with the other separator does not split them.
    writer = csv.writer(_Echo(), delimiter=separator, quoting=csv.QUOTE_NONNUMERIC)
    if not is_continued:
        yield BOM
    decimal_mark = get_format("DECIMAL_SEPARATOR", language)
    remaining = iter(rows)
    while True:
        with translation.override(language):
            row = next(remaining, None)
        if row is None:
            return
        yield writer.writerow([escape_cell(cell, decimal_mark) for cell in row])


def escape_cell(cell: str | int | Decimal, decimal_mark: str = ".") -> str | int:
    """Escapes text that a spreadsheet would evaluate or shorten; numbers stay numbers.

    References and phones keep all digits: +79161234567 would otherwise be shown as 7.9E+10. With
    another mark than the reader's, 1900.00 would be text, and 3.11 a day in November.
    """
    if isinstance(cell, Decimal):
        return f"{cell:f}".replace(".", decimal_mark)
    if isinstance(cell, str) and (cell.startswith(_FORMULA) or _NUMBER.fullmatch(cell)):
        return f"'{cell}"
    return cell
