"""Anonymises phone numbers after the retention time."""

from django.conf import settings
from django.db import connection

from otp import sql


def purge_phones(limit: int) -> int:
    """After the retention time a verification keeps its country and prefix, not its phone."""
    with connection.cursor() as cursor:
        cursor.execute(sql.ANONYMISE_PHONES, [settings.PHONE_RETENTION, limit])
        return int(cursor.rowcount)
