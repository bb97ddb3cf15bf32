"""Keyset pagination: a cursor names the last row seen, so new rows do not shift pages."""

import base64
import binascii
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from catalogue.errors import DomainError, invalid_input
from parsing.integers import parse_integer
from storage.heavy_work import HeavyWork

PAGE_SIZE = 50
MAX_PAGE_SIZE = 200
LONG_PAGES = HeavyWork("long pages", limit=1, max_waiting=24)  # over PAGE_SIZE rows: 0.03 s each
NEWEST_FIRST = ("-created_at", "-id")
# Rows scanned for a page of a filter without an index: the next number while the page is not full.
SCANS = (200, 2_000, 50_000)


class Position(NamedTuple):
    """The place in a list after which the next page or batch begins."""

    created_at: datetime
    id: Any


@dataclass(frozen=True, slots=True)
class Page:
    rows: list[Any]
    next_cursor: str | None
    scanned_until: datetime | None = None  # where a scan ended before the page was full


@dataclass(frozen=True, slots=True)
class _Batch:
    rows: list[Any]
    end: Position | None  # None: there are no more
    is_full: bool


def list_body(
    rows: QuerySet[Any],
    query: Mapping[str, str],
    body_of_row: Callable[[Any], dict[str, Any]],
    *,
    company_id: int,
    history: QuerySet[Any] | None = None,
    load: Callable[[list[Any]], list[Any]] = list,
) -> dict[str, Any]:
    """The response fields of `page_of` for a company; a long page waits for its turn. `load` turns
    all rows of a page at once into the arguments of `body_of_row`.
    """
    with LONG_PAGES.turn(company_id) if limit_of(query) > PAGE_SIZE else nullcontext():
        page = page_of(rows, query, history=history)
        return body_of_page(replace(page, rows=load(page.rows)), body_of_row)


def body_of_page(page: Page, body_of_row: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    return {
        "data": [body_of_row(row) for row in page.rows],
        "has_more": page.next_cursor is not None,
        "next_cursor": page.next_cursor,
    }


def limit_of(query: Mapping[str, str]) -> int:
    limit = parse_integer(query.get("limit") or str(PAGE_SIZE), minimum=1, maximum=MAX_PAGE_SIZE)
    if limit is None:
        raise invalid_input(limit=format_lazy(_("Between 1 and {max}"), max=MAX_PAGE_SIZE))
    return limit


def page_of(
    rows: QuerySet[Any],
    query: Mapping[str, str],
    *,
    history: QuerySet[Any] | None = None,
    scans: Sequence[int] | None = None,
) -> Page:
    """The rows after the cursor, newest first, by (created_at, id).

    `history` is for a filter without an index: all rows to be filtered, in the order of an index. A
    page then scans a bounded number of them, so it may have fewer rows than requested, even none,
    without being the last.
    """
    limit = limit_of(query)
    batch = _batch(rows, history, _start(rows, query), limit, scans or SCANS)
    scanned_until = None if batch.is_full or batch.end is None else batch.end.created_at
    return Page(batch.rows, batch.end and encode(*batch.end), scanned_until)


def page_or_first(
    rows: QuerySet[Any], query: Mapping[str, str], *, history: QuerySet[Any] | None = None
) -> Page:
    """A page of a list on the web, of up to PAGE_SIZE rows; the first one for an invalid cursor."""
    try:
        limit = min(PAGE_SIZE, limit_of(query))
        cursor = query.get("cursor", "")
        return page_of(rows, {"limit": str(limit), "cursor": cursor}, history=history)
    except DomainError:
        return page_of(rows, {}, history=history)


def batch_after(
    rows: QuerySet[Any], start: Position | None, size: int, *, history: QuerySet[Any] | None = None
) -> tuple[list[Any], Position | None]:
    """A batch of at most `size` rows, newest first, and the start of the next one; None if there is
    no next. With a `history`, it scans a bounded part of it, as for a page.
    """
    batch = _batch(rows, history, start, size, SCANS[-2:])  # the first is shorter than a batch
    return batch.rows, batch.end


def _batch(
    rows: QuerySet[Any],
    history: QuerySet[Any] | None,
    start: Position | None,
    limit: int,
    scans: Sequence[int],
) -> _Batch:
    if start is not None:
        rows = _older_than(rows, start)
        history = None if history is None else _older_than(history, start)
    return _first_batch(rows, limit) if history is None else _scan(rows, history, limit, scans)


def _scan(rows: QuerySet[Any], history: QuerySet[Any], limit: int, scans: Sequence[int]) -> _Batch:
    for length in scans:
        end = _last_of(history, length)
        if end is None:
            return _first_batch(rows, limit)
        batch = _first_batch(_down_to(rows, end), limit)
        if batch.is_full:
            return batch
    return replace(batch, end=end)


def _last_of(history: QuerySet[Any], scan: int) -> Position | None:
    """The last row of a scan; None if there are fewer."""
    positions = history.order_by(*NEWEST_FIRST).values_list("created_at", "pk")
    last = positions[scan - 1 : scan].first()
    return last and Position(*last)


def _first_batch(rows: QuerySet[Any], limit: int) -> _Batch:
    page = list(rows.order_by(*NEWEST_FIRST)[: limit + 1])
    if len(page) <= limit:
        return _Batch(page, None, is_full=False)
    last = page[limit - 1]
    return _Batch(page[:limit], Position(last.created_at, last.pk), is_full=True)


# In `_older_than` and `_down_to` the first condition is redundant, but only it can use the index.
def _older_than(rows: QuerySet[Any], start: Position) -> QuerySet[Any]:
    return rows.filter(created_at__lte=start.created_at).filter(
        Q(created_at__lt=start.created_at) | Q(id__lt=start.id)
    )


def _down_to(rows: QuerySet[Any], end: Position) -> QuerySet[Any]:
    return rows.filter(created_at__gte=end.created_at).filter(
        Q(created_at__gt=end.created_at) | Q(id__gte=end.id)
    )


def _start(rows: QuerySet[Any], query: Mapping[str, str]) -> Position | None:
    cursor = query.get("cursor")
    id_of = rows.model._meta.pk.to_python  # noqa: SLF001
    return _decode(cursor, id_of) if cursor else None


def encode(created_at: datetime, row_id: Any) -> str:
    text = f"{created_at.isoformat()}|{row_id}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode(cursor: str, id_of: Callable[[str], Any]) -> Position:
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        created_at, _separator, row_id = text.partition("|")
        return Position(_aware(datetime.fromisoformat(created_at)), id_of(row_id))
    except (ValueError, ValidationError, binascii.Error):
        raise invalid_input(cursor=_("Pass next_cursor from the previous page")) from None


def _aware(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError
    return moment


def is_live(request: HttpRequest) -> bool:
    """Whether the list shows new rows as they arrive: only its first page updates itself."""
    return request.GET.get("follow") == "1" and not request.GET.get("cursor")
