"""What an entry of the clicks stream holds: a batch of clicks, parsed from JSON."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

import orjson
import structlog

from links.clicks import bot_detection
from links.clicks.bot_detection import HandOverWindow, VisitorKind

log = structlog.get_logger(__name__)

Entry = tuple[bytes, dict[bytes, bytes]]
MAX_MILLIS = 2**42  # Unix ms: the year 2109
_KINDS = {kind.value: kind.value for kind in VisitorKind}  # quicker than the enumeration's call


class Click(NamedTuple):
    link_id: UUID
    kind: str
    millis: int  # Unix time
    referrer: str = ""
    device: str = ""
    country: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """The clicks of one entry; its id is the same when the entry is delivered again."""

    id: str
    clicks: list[Click]

    def by_people(self) -> dict[UUID, list[int]]:
        """Link → when people clicked, in Unix milliseconds."""
        times: dict[UUID, list[int]] = defaultdict(list)
        for click in self.clicks:
            if click.kind == VisitorKind.PERSON:
                times[click.link_id].append(click.millis)
        return times


def read_batches(entries: list[Entry]) -> list[Batch]:
    """Parses the entries, and corrects the kinds of clicks that came too soon for a person."""
    batches = [batch for batch in map(_parse, entries) if batch]
    link_ids = {click.link_id for batch in batches for click in batch.clicks}
    windows = bot_detection.hand_over_windows(link_ids)
    if not windows:
        return batches
    return [Batch(batch.id, [_corrected(c, windows) for c in batch.clicks]) for batch in batches]


def _parse(entry: Entry) -> Batch | None:
    """Returns None for a trimmed or malformed entry, so that it cannot block others."""
    entry_id, fields = entry
    if not fields:
        return None
    try:
        rows = orjson.loads(fields[b"batch"])
        batch_id = UUID(hex=fields[b"id"].decode()).hex
    except (ValueError, LookupError):
        log.exception("click_entry_malformed", entry=entry_id.decode())
        return None
    link_ids: dict[str, UUID] = {}  # a batch has many clicks of few links
    clicks = [click for row in rows if (click := _read(row, link_ids, entry_id))]
    return Batch(batch_id, clicks)


def _read(row: Any, link_ids: dict[str, UUID], entry_id: bytes) -> Click | None:
    """None for a row that is not a click: it costs no other of its entry."""
    try:
        if (link_id := link_ids.get(row[0])) is None:
            link_id = link_ids[row[0]] = UUID(hex=row[0])
        return _click(link_id, *row[1:6])
    except (ValueError, LookupError, TypeError, AttributeError):
        log.exception("click_malformed", entry=entry_id.decode())
        return None


def _click(link_id: UUID, kind: str, millis: int, *details: str) -> Click:
    return Click(link_id, _KINDS[kind], _checked_millis(millis), *details)


def _checked_millis(millis: int) -> int:
    if 0 <= millis < MAX_MILLIS:
        return millis
    raise ValueError(millis)


def _corrected(click: Click, windows: dict[UUID, list[HandOverWindow]]) -> Click:
    if click.kind != VisitorKind.PERSON or click.link_id not in windows:
        return click
    if bot_detection.is_scanner_by_timing(click.millis, windows[click.link_id]):
        return click._replace(kind=VisitorKind.SCANNER.value)
    return click
