"""Counts codes sent and codes entered for the statistics of `channels`, and live codes by key."""

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Count
from django.db.models.functions import Now
from django.utils import timezone

from channels.extensions import CodeCount
from config.ids import first_id_at
from config.storage.statements.named_rows import fetch_all
from otp import sql
from otp.models import Verification

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


def live_codes_by_key() -> Counter[str]:
    """How many codes that can still be entered each of OTP_KEYS made."""
    oldest = timezone.now() - timedelta(seconds=settings.CODE_LIFETIME) - CLOCK_SKEW
    live = Verification.objects.filter(
        id__gte=first_id_at(oldest),
        expires_at__gt=Now(),
        verified_at=None,
        superseded_at=None,
    )
    return Counter(dict(live.values_list("key_id").annotate(codes=Count("id"))))
