"""Codes that are over before their time: what was to live with them ends too."""

from django.db import connection, transaction

from links.manage import changes
from otp import sql

BATCH = 200


def settle_over_early() -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql.OVER_EARLY, [BATCH])
        ids = [row[0] for row in cursor.fetchall()]
        changes.end_with_codes(cursor, ids)
    return len(ids)
