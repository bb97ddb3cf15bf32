"""Codes that were guessed at until no attempt was left: what was to live with them ends."""

from django.db import connection, transaction

from links import managing
from otp import sql

BATCH = 200


def settle_locked_out() -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql.LOCKED_OUT, [BATCH])
        ids = [row[0] for row in cursor.fetchall()]
        managing.end_with_codes(cursor, ids)
    return len(ids)
