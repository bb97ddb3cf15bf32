"""Removes what outlived its use, in small batches."""

from django.conf import settings
from django.db import connection

from accounts.models import IdempotentRequest
from channels import registry

BATCH = 1000

RAW_RECEIPTS = """
DELETE FROM channels_receipt WHERE id IN (
  SELECT id FROM channels_receipt WHERE received_at < now() - make_interval(days => %s) LIMIT %s)
"""

# The prefix stays for statistics; what is left of the number belongs to nobody.
PHONES = """
UPDATE channels_message SET phone = left(phone, 5) || '*'
WHERE id IN (SELECT id FROM channels_message
             WHERE created_at < now() - make_interval(days => %s)
               AND right(phone, 1) <> '*' AND state NOT IN ('queued', 'sent')
             ORDER BY created_at LIMIT %s)
"""


def purge() -> int:
    removed: int = IdempotentRequest.objects.outlived().delete()[0]
    for statement, days in (
        (RAW_RECEIPTS, settings.RAW_RETENTION),
        (PHONES, settings.PHONE_RETENTION),
    ):
        removed += _in_batches(statement, days)
    return removed + sum(purger() for purger in registry.purgers())


def _in_batches(statement: str, days: int) -> int:
    total = 0
    while True:
        with connection.cursor() as cursor:
            cursor.execute(statement, [days, BATCH])
            count = int(cursor.rowcount)
        total += count
        if count < BATCH:
            return total
