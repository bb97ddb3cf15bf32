"""Keyset pagination: a cursor names the last row seen, so new rows do not shift pages."""

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from config.errors import DomainError, invalid_input

PAGE, MAX_PAGE = 50, 200
NEWEST_FIRST = ("-created_at", "-id")
_NUMBER = re.compile(r"[0-9]{1,3}")


@dataclass(frozen=True, slots=True)
class Page:
    rows: list[Any]
    next_cursor: str | None


def body_of_page(page: Page, body_of_row: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """The response fields of a list."""
    return {
        "data": [body_of_row(row) for row in page.rows],
        "has_more": page.next_cursor is not None,
        "next_cursor": page.next_cursor,
    }


def limit_of(query: Mapping[str, str]) -> int:
    text = query.get("limit", str(PAGE))
    if not (_NUMBER.fullmatch(text) and 1 <= int(text) <= MAX_PAGE):
        raise invalid_input(limit=format_lazy(_("Between 1 and {max}"), max=MAX_PAGE))
    return int(text)


def page_of(rows: QuerySet[Any], query: Mapping[str, str]) -> Page:
    """The rows after the cursor, newest first, by (created_at, id)."""
    limit = limit_of(query)
    found = list(after(rows, query).order_by(*NEWEST_FIRST)[: limit + 1])
    has_more = len(found) > limit
    return Page(found[:limit], encode(found[limit - 1]) if has_more else None)


def forgiving_page_of(rows: QuerySet[Any], query: Mapping[str, str]) -> Page:
    """For web pages: an invalid cursor shows the first page."""
    try:
        return page_of(rows, query)
    except DomainError:
        return page_of(rows, {})


def after(rows: QuerySet[Any], query: Mapping[str, str]) -> QuerySet[Any]:
    """The rows after the cursor, or all rows without one."""
    cursor = query.get("cursor")
    id_of = rows.model._meta.pk.to_python  # noqa: SLF001
    return _older(rows, *_decode(cursor, id_of)) if cursor else rows


def batches(rows: QuerySet[Any], size: int) -> Iterator[list[Any]]:
    """All rows, newest first. Holds no database cursor or transaction between batches."""
    batch = list(rows.order_by(*NEWEST_FIRST)[:size])
    while batch:
        yield batch
        if len(batch) < size:
            return
        last = batch[-1]
        batch = list(_older(rows, last.created_at, last.pk).order_by(*NEWEST_FIRST)[:size])


def _older(rows: QuerySet[Any], created_at: datetime, row_id: Any) -> QuerySet[Any]:
    # The first condition is redundant, but only it can use the index.
    return rows.filter(created_at__lte=created_at).filter(
        Q(created_at__lt=created_at) | Q(id__lt=row_id)
    )


def encode(row: Any) -> str:
    text = f"{row.created_at.isoformat()}|{row.pk}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode(cursor: str, id_of: Callable[[str], Any]) -> tuple[datetime, Any]:
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        created_at, _separator, row_id = text.partition("|")
        return _aware(datetime.fromisoformat(created_at)), id_of(row_id)
    except (ValueError, ValidationError, binascii.Error):
        raise invalid_input(cursor=_("Take next_cursor from the previous page")) from None


def _aware(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError
    return moment
