"""Codes with all their attempts, once both are over for the router: two minutes after the send."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import connection

from config.ids import first_id_at
from config.storage.statements.named_rows import fetch_all

# The replay closes a send after as long; what comes later teaches nothing.
CLOSED_AFTER = timedelta(seconds=120)
NOT_THERE = {"unreachable", "barred"}  # classes of errors: of this person's phone
# A code that is sent again is older than its message.
CODE_AGE = timedelta(seconds=settings.CODE_LIFETIME)

# Ids begin with the time, so the ranges of both tables are some pages of their primary keys.
_ATTEMPTS = """
SELECT m.id, m.phone, EXTRACT(epoch FROM m.created_at)::float AS created,
  EXTRACT(epoch FROM v.verified_at)::float AS verified,
  v.verified_at IS NOT NULL AND EXISTS (SELECT 1 FROM channels_message later
    WHERE later.subject_id = m.subject_id AND later.id > m.id
      AND later.created_at < v.verified_at) AS is_sent_again,
  a.n, a.channel, a.provider, a.state, a.error_class,
  EXTRACT(epoch FROM a.started_at)::float AS started,
  EXTRACT(epoch FROM a.finished_at)::float AS finished
FROM channels_message m JOIN channels_attempt a ON a.message_id = m.id
    AND a.id >= %(first)s
  LEFT JOIN otp_verification v ON v.id = m.subject_id
    AND v.id >= %(first_code)s AND v.id < %(last)s
WHERE m.id >= %(first)s AND m.id < %(last)s AND m.kind = 'code' AND m.content = 'code'
  AND m.mode = 'live' AND m.phone NOT LIKE '%%*'
ORDER BY m.id, a.n
"""


class _Row(NamedTuple):
    """A row of `_ATTEMPTS`."""

    id: UUID
    phone: str
    created: float
    verified: float | None
    is_sent_again: bool
    n: int
    channel: str
    provider: str
    state: str
    error_class: str
    started: float
    finished: float | None


@dataclass(frozen=True, slots=True)
class ChannelTry:
    """A channel that was asked, by one or more attempts; times are seconds since 1970."""

    channel: str
    accounts: tuple[str, ...]  # each that was asked, once: all but the last one failed it
    started: float
    delivered: float | None
    refused: float | None  # when the vendor said that the recipient is not there
    is_barred: bool
    is_fault: bool  # ours or the vendor's, which says nothing of the recipient


@dataclass(frozen=True, slots=True)
class TriedCode:
    phone: str
    created: float
    verified: float | None
    is_sent_again: bool  # before it was entered: another message may have brought it
    tries: tuple[ChannelTry, ...]


def tried_codes(since: datetime, until: datetime) -> Iterator[TriedCode]:
    """Those that were closed in `[since, until)`, in the order of their sends."""
    start, end = since - CLOSED_AFTER, until - CLOSED_AFTER
    params = {
        "first": first_id_at(start),
        "last": first_id_at(end),
        "first_code": first_id_at(start - CODE_AGE),
    }
    with connection.cursor() as cursor:
        cursor.execute(_ATTEMPTS, params)
        rows = fetch_all(cursor, _Row)
    for _id, several in groupby(rows, key=lambda row: row.id):
        yield _code(list(several))


def _code(rows: list[_Row]) -> TriedCode:
    first = rows[0]
    return TriedCode(
        phone=first.phone,
        created=first.created,
        verified=first.verified,
        is_sent_again=first.is_sent_again,
        tries=tuple(
            _try(list(several)) for _channel, several in groupby(rows, key=lambda row: row.channel)
        ),
    )


def _try(rows: list[_Row]) -> ChannelTry:
    """By the last of the attempts: those before it failed for another reason than the recipient."""
    last, names = rows[-1], [row.provider for row in rows]
    is_there = last.error_class not in NOT_THERE
    is_failed = last.state == "failed"
    return ChannelTry(
        channel=last.channel,
        accounts=(*dict.fromkeys(name for name in names if name != names[-1]), names[-1]),
        started=rows[0].started,
        delivered=last.finished if last.state == "delivered" else None,
        refused=last.finished if is_failed and not is_there else None,
        is_barred=last.error_class == "barred",
        is_fault=is_failed and is_there,
    )
