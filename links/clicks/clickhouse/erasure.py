"""Erases clicks of a person's links in ClickHouse, after PostgreSQL's are gone.

The links are noted in the transaction of the erasure. A link stays noted while the stream can still
hold clicks of it, which the sink leaves out, and until ClickHouse has none.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from links.clicks import counting
from links.clicks.clickhouse import tables
from links.models import ErasedClicks
from storage import clickhouse

# An insert that had begun before the erasure is over by then.
SETTLED_AFTER = timedelta(minutes=10)
CHUNK = 1000

_NOTE = """
INSERT INTO links_erasedclicks (link_id, erased_at, is_gone)
SELECT unnest(%s::uuid[]), now(), false
ON CONFLICT (link_id) DO UPDATE SET erased_at = now(), is_gone = false
"""


def note(cursor: CursorWrapper, link_ids: Sequence[UUID]) -> None:
    """To be called in the transaction that erases them."""
    if clickhouse.is_configured() and link_ids:
        cursor.execute(_NOTE, [list(link_ids)])


def erase() -> int:
    """Hourly. Starts the erasure of clicks that are still there; returns of how many links.

    ClickHouse erases in the background: the next run finds whether it has.
    """
    settled = ErasedClicks.objects.filter(
        is_gone=False, erased_at__lt=timezone.now() - SETTLED_AFTER
    )
    due = list(settled.order_by("erased_at").values_list("link_id", flat=True)[:CHUNK])
    present = _present(due) if due else set()
    if present:
        clickhouse.execute(f"ALTER TABLE {tables.TABLE} DELETE WHERE {_of(present)}")
    ErasedClicks.objects.filter(link_id__in=set(due) - present).update(is_gone=True)
    _forget()
    return len(present)


def _present(link_ids: Iterable[UUID]) -> set[UUID]:
    query = f"SELECT DISTINCT link_id FROM {tables.TABLE} WHERE {_of(link_ids)}"  # noqa: S608
    return {UUID(row["link_id"]) for row in clickhouse.read(query)}


def _of(link_ids: Iterable[UUID]) -> str:
    return f"link_id IN ({', '.join(map(tables.uuid, link_ids))})"


def _forget() -> None:
    """Notes that the stream has outlived; the batches' ids are kept for the same reason."""
    kept = counting.BATCH_RETENTION + timedelta(seconds=settings.CLICKHOUSE_BACKLOG)
    ErasedClicks.objects.filter(is_gone=True, erased_at__lt=timezone.now() - kept).delete()
