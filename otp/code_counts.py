"""Counts codes sent and codes entered, for the daily statistics of `channels`."""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection

from channels.extensions import CodeCount
from config.ids import first_id_at
from otp import sql

CLOCK_SKEW = timedelta(minutes=10)  # allowed between our clock and the database's


def count_codes(
    *, start: datetime, end: datetime, company_id: int | None, mode: str | None
) -> list[CodeCount]:
    """What `channels.extensions.count_codes` asks for."""
    made = start - timedelta(seconds=settings.CODE_LIFETIME) - CLOCK_SKEW  # at the earliest
    params: dict[str, Any] = {
        "start": start,
        "end": end,
        "first_id": first_id_at(made),
        "last_id": first_id_at(end + CLOCK_SKEW),
    }
    if company_id is not None:
        params |= {"company_id": company_id, "mode": mode}
    whose = sql.ALL_COMPANIES if company_id is None else sql.ONE_COMPANY
    with connection.cursor() as cursor:
        cursor.execute(sql.COUNT_CODES.format(whose=whose), params)
        return [CodeCount(*row) for row in cursor.fetchall()]
