"""A company's custom texts, read in the statement that reads its keys, so they cost no query.

The app that owns their tables registers the SQL column.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple


class CompanyTexts(NamedTuple):
    bodies: Mapping[tuple[str, str, str], str]  # by language, purpose and channel; "" matches all
    webotp_host: str = ""  # lets a browser fill the code in on this site
    app_hash: str = ""  # lets this Android app read the SMS


NO_TEXTS = CompanyTexts({})


class TextsColumn(NamedTuple):
    sql: str  # an expression over the company's row `c`; NULL: no custom texts
    parse: Callable[[str], CompanyTexts]


_registered: list[TextsColumn] = []


def register_column(column: TextsColumn) -> None:
    _registered[:] = [column]


def column_sql() -> str:
    return _registered[0].sql if _registered else "NULL"


def texts_of(value: str | None) -> CompanyTexts:
    """Parse the value of the column."""
    return _registered[0].parse(value) if value else NO_TEXTS
