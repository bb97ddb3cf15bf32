"""The hashes of seals: lines of a day's transfers, their parts by month, and the heads.

A reader of the statement and the heads can recompute them.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from hashlib import sha256
from typing import Any, NamedTuple

from billing.models import Transfer
from catalogue.ids import public_id_sql
from storage.sessions import in_index_order
from storage.statements import sql_files
from storage.statements.named_rows import fetch_all

NOTHING = "0" * 64  # the head before the first day


@dataclass(frozen=True, slots=True)
class Part:
    """A day's transfers of one month's messages; `available` and `held` are the changes by them.

    `digest` is the SHA-256 of their lines, each ended by a newline, by time and id.
    """

    month: str  # "2026-10"; "" for transfers without a message
    transfers: int
    available: int
    held: int
    digest: str


def head_of(previous: str, day: date, parts: Sequence[Part]) -> str:
    """A company's head after the day; its parts ascend by month."""
    rows = [[part.month, part.transfers, part.available, part.held, part.digest] for part in parts]
    return head_of_rows(previous, day, rows)


def head_of_rows(previous: str, day: date, rows: Iterable[Sequence[object]]) -> str:
    """The head after the day; for all companies, rows are (company, its head), ascending by
    company.
    """
    lines = [previous, day.isoformat(), *(json.dumps(list(row)) for row in rows)]
    return sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


BATCH_SIZE = 20_000  # lines per statement

# A JSON array, byte for byte like Python's json.dumps(…, ensure_ascii=False); the last column of
# the statement. It contains nothing about a person, so an erasure changes no line.
LINE = f"""json_build_array(id, to_char(created_at AT TIME ZONE 'UTC',
  'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), kind, amount,
  COALESCE({public_id_sql("msg", "message_id")}, ''), hold, proof, COALESCE(key, ''),
  reason)::text"""
# The first 48 bits of a UUIDv7 are its time in milliseconds.
_MONTH = """CASE WHEN message_id IS NULL THEN '' ELSE to_char(to_timestamp(
  ('x' || left(replace(message_id::text, '-', ''), 12))::bit(48)::bigint / 1000.0)
  AT TIME ZONE 'UTC', 'YYYY-MM') END"""

_PIECES = sql_files.fill(
    sql_files.read("billing/seals/pieces.sql"),
    month=_MONTH,
    available=Transfer.AVAILABLE,
    held=Transfer.HELD,
    line=LINE,
    limit=str(BATCH_SIZE),
)


class _Piece(NamedTuple):
    """A row of `_PIECES`, a piece of one part."""

    day: date
    month: str
    transfers: int
    available: int
    held: int
    lines: str
    last_at: datetime
    last_id: int


class RunningHash:
    """The running hash of a part's lines."""

    def __init__(self) -> None:
        self.transfers = 0
        self.available = 0
        self.held = 0
        self.digest = sha256()

    def add(self, piece: _Piece) -> None:
        self.transfers += piece.transfers
        self.available += piece.available
        self.held += piece.held
        self.digest.update(piece.lines.encode())

    def finish(self, month: str) -> Part:
        return Part(month, self.transfers, self.available, self.held, self.digest.hexdigest())


def days_of(company_id: int, since: date, until: date) -> Iterator[tuple[date, list[Part]]]:
    """The parts of each day with transfers, from `since` to the day before `until`.

    They are read in bounded statements. The days must be closed, or locked by the caller.
    """
    today = since
    parts = dict[str, RunningHash]()
    for piece in _pieces(company_id, since, until):
        if piece.day != today and parts:
            yield today, _finish_all(parts)
            parts = {}
        today = piece.day
        parts.setdefault(piece.month, RunningHash()).add(piece)
    if parts:
        yield today, _finish_all(parts)


def _finish_all(parts: dict[str, RunningHash]) -> list[Part]:
    return [part.finish(month) for month, part in sorted(parts.items())]


def _pieces(company_id: int, since: date, until: date) -> Iterator[_Piece]:
    params: dict[str, Any] = {"company": company_id, "until": utc_start_of(until)}
    params |= {"at": utc_start_of(since), "id": 0}
    while True:
        with in_index_order() as cursor:
            cursor.execute(_PIECES, params)
            pieces = fetch_all(cursor, _Piece)
        yield from pieces
        if sum(piece.transfers for piece in pieces) < BATCH_SIZE:
            return
        params |= {"at": pieces[-1].last_at, "id": pieces[-1].last_id}


def utc_start_of(day: date) -> datetime:
    """The start of a day in UTC, in which the months of messages are counted, too."""
    return datetime.combine(day, time.min, UTC)
