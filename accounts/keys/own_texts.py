"""A company's own wording: read with its keys, in the same statement, so that it costs no query.

Whose tables it is in is the business of the room that registers the column.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple


class CompanyTexts(NamedTuple):
    bodies: Mapping[tuple[str, str, str], str]  # by language, purpose and channel; "": every one
    webotp_host: str = ""  # lets a browser fill the code in on this site
    app_hash: str = ""  # lets this Android app read the SMS


NO_TEXTS = CompanyTexts({})


class TextsColumn(NamedTuple):
    sql: str  # an expression over the company's row `c`; null: it says nothing of its own
    parse: Callable[[str], CompanyTexts]


_registered: list[TextsColumn] = []


def register_column(column: TextsColumn) -> None:
    _registered[:] = [column]


def column_sql() -> str:
    return _registered[0].sql if _registered else "NULL"


def texts_of(value: str | None) -> CompanyTexts:
    """What stands in the column."""
    return _registered[0].parse(value) if value else NO_TEXTS
