"""What the seals say of a month of messages: for whoever takes it out of the database.

A month is that of the messages, as of the partitions (docs/decisions/0019): its transfers lie in
the month's partition, and in the seals of that month's days and of some days after it.

How to take a month out:

1. `is_closed(month)`: no transfer of its partition lies after the last sealed day. That no message
   of the month is open, so that no further transfer can come, is the caller's to check.
2. Compare what was written with `parts_of(month)`: for each company and day the number of
   transfers, what they changed of available and held, and the SHA-256 of their lines. `line_of`
   makes a line of the values of a row; a part's lines go by (created_at, id), each with a newline.
3. Drop the partition. Wallets are proved by the last seal and what came after it, so they need no
   row of the month. `opening(company_id, day)` is what a company has when a day begins.

The first partition of a table has all earlier months as well: ask for each month that it holds.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, date, timedelta
from typing import Any, NamedTuple

from django.db import connection

from billing.models import Seal, SealedDay
from billing.seals.heads import Part
from billing.seals.lines import start_of
from config.ids import first_id_at, public_id
from config.storage.months.calendar import last_day, next_month

_AFTER_SEALS = """
SELECT EXISTS (SELECT FROM billing_transfer
  WHERE message_id >= %(first)s AND message_id < %(next)s AND created_at >= %(open)s)
"""
_PARTS = """
SELECT s.company_id, s.day, p.part FROM billing_seal s
CROSS JOIN LATERAL jsonb_array_elements(s.parts) AS p(part)
WHERE s.day >= %(since)s AND p.part->>'month' = %(month)s ORDER BY s.company_id, s.day
"""


class DayPart(NamedTuple):
    """A company's transfers of one day that belong to messages of the month asked for."""

    company_id: int
    day: date
    part: Part


class Opening(NamedTuple):
    """Tokens of a company before the first transfer of a day."""

    available: int
    held: int


def is_closed(month: date) -> bool:
    """Whether every transfer of the month's messages lies in a seal. `month`: any of its days."""
    sealed, first = SealedDay.last(), month.replace(day=1)
    if sealed is None or sealed < last_day(first):
        return False
    params: dict[str, Any] = {"open": start_of(sealed + timedelta(days=1))}
    params["first"] = first_id_at(start_of(first))
    params["next"] = first_id_at(start_of(next_month(first)))
    with connection.cursor() as cursor:
        cursor.execute(_AFTER_SEALS, params)
        return not cursor.fetchone()[0]


def parts_of(month: date) -> Iterator[DayPart]:
    """Every sealed part of the month's messages, by company and day; streamed."""
    first = month.replace(day=1)
    params: dict[str, Any] = {"month": f"{first:%Y-%m}", "since": first - timedelta(days=1)}
    with connection.cursor() as cursor:
        cursor.execute(_PARTS, params)
        for company_id, day, part in cursor:
            yield DayPart(company_id, day, Part(**json.loads(part)))


def opening(company_id: int, day: date) -> Opening:
    """What the company has when `day` begins, by the last seal before it."""
    last = Seal.objects.filter(company=company_id, day__lt=day).order_by("day").last()
    return Opening(last.available, last.held) if last else Opening(0, 0)


def line_of(row: Mapping[str, Any]) -> str:
    """The line of a transfer's columns, as the database writes it in `lines.LINE`."""
    at, message_id = row["created_at"].astimezone(UTC), row["message_id"]
    values = [
        row["id"],
        f"{at:%Y-%m-%dT%H:%M:%S.%f}Z",
        row["kind"],
        row["amount"],
        public_id("msg", message_id) if message_id else "",
        row["hold"],
        row["proof"],
        row["key"] or "",
        row["reason"],
    ]
    return json.dumps(values, ensure_ascii=False)
