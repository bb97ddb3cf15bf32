"""Counts codes sent and codes entered, for the daily statistics of `channels`."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection

from channels.extensions import CodeCount
from config.ids import first_id_at
from config.storage.named_rows import fetch_all
from otp import sql

CLOCK_SKEW = timedelta(minutes=10)  # allowed between our clock and the database's


def count_codes(
    *, start: datetime, end: datetime, company_id: int | None, mode: str | None
) -> list[CodeCount]:
    """Implements `channels.extensions.count_codes`."""
    earliest = start - timedelta(seconds=settings.CODE_LIFETIME) - CLOCK_SKEW
    params: dict[str, Any] = {
        "start": start,
        "end": end,
        "first_id": first_id_at(earliest),
        "last_id": first_id_at(end + CLOCK_SKEW),
    }
    if company_id is not None:
        params |= {"company_id": company_id, "mode": mode}
    scope = sql.ALL_COMPANIES if company_id is None else sql.ONE_COMPANY
    with connection.cursor() as cursor:
        cursor.execute(sql.COUNT_CODES.format(scope=scope), params)
        return fetch_all(cursor, CodeCount)
