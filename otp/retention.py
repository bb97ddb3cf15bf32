"""Anonymises phone numbers after the retention time."""

from django.conf import settings
from django.db import connection

from otp import sql


def purge_phones(limit: int) -> int:
    """Cuts the phones of old verifications to country code and prefix; returns the count."""
    with connection.cursor() as cursor:
        cursor.execute(sql.ANONYMISE_PHONES, [settings.PHONE_RETENTION, limit])
        return int(cursor.rowcount)
