"""Anonymises phone numbers after the retention time."""

from django.conf import settings
from django.db import connection

from otp import sql

BATCH = 5000  # rows


def purge_phones(limit: int) -> int:
    """Cuts the phones of old verifications to country code and prefix; returns the count."""
    with connection.cursor() as cursor:
        cursor.execute(sql.ANONYMISE_PHONES, [settings.PHONE_RETENTION, limit])
        return int(cursor.rowcount)


def supersede_past() -> None:
    """Ends codes that expired long ago and were never followed by another. They would share a
    partition with new ones, where one code of a purpose may be live.
    """
    changed = BATCH
    while changed == BATCH:
        with connection.cursor() as cursor:
            cursor.execute(sql.SUPERSEDE_PAST, [sql.first_recent_id(), BATCH])
            changed = int(cursor.rowcount)
