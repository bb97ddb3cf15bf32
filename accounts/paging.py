"""Keyset paging: a cursor names the last row seen, so that new rows move nothing."""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet

from config.errors import invalid_input

PAGE, LARGEST = 50, 200
_WHOLE = re.compile(r"[0-9]{1,3}")


@dataclass(frozen=True, slots=True)
class Page:
    rows: list[Any]
    next_cursor: str | None


def limit_of(query: Mapping[str, str]) -> int:
    text = query.get("limit", str(PAGE))
    if not (_WHOLE.fullmatch(text) and 1 <= int(text) <= LARGEST):
        raise invalid_input(limit=(f"От 1 до {LARGEST}", f"Between 1 and {LARGEST}"))
    return int(text)


def page_of(rows: QuerySet[Any], query: Mapping[str, str]) -> Page:
    """The rows after the cursor, newest first, by (created_at, id)."""
    limit = limit_of(query)
    cursor = query.get("cursor")
    if cursor:
        created_at, row_id = _decode(cursor, rows.model._meta.pk.to_python)  # noqa: SLF001
        # The first condition says nothing new, but it alone can enter the index.
        rows = rows.filter(created_at__lte=created_at).filter(
            Q(created_at__lt=created_at) | Q(id__lt=row_id)
        )
    found = list(rows.order_by("-created_at", "-id")[: limit + 1])
    has_more = len(found) > limit
    return Page(found[:limit], encode(found[limit - 1]) if has_more else None)


def encode(row: Any) -> str:
    text = f"{row.created_at.isoformat()}|{row.pk}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode(cursor: str, id_of: Callable[[str], Any]) -> tuple[datetime, Any]:
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        created_at, _, row_id = text.partition("|")
        return _aware(datetime.fromisoformat(created_at)), id_of(row_id)
    except (ValueError, ValidationError, binascii.Error):
        raise invalid_input(
            cursor=(
                "Возьмите next_cursor из предыдущей страницы",
                "Take next_cursor from the previous page",
            )
        ) from None


def _aware(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError
    return moment
