"""Gives old transfers the number of their hold, in batches; can be repeated."""

from typing import Any

from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations

BATCH = 20_000

FORBID_FILLING = """
CREATE OR REPLACE FUNCTION billing_transfer_is_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'transfers are immutable: correct one with another' USING ERRCODE = '23001';
END $$;
"""
FILL = """
UPDATE billing_transfer SET hold = split_part(key, ':', 3)::smallint
WHERE id BETWEEN %s AND %s AND message_id IS NOT NULL AND hold IS NULL
"""


def fill(_apps: Any, editor: Any) -> None:
    with editor.connection.cursor() as cursor:
        cursor.execute("SELECT min(id), max(id) FROM billing_transfer WHERE message_id IS NOT NULL")
        first, last = cursor.fetchone()
        for start in range(first or 0, (last or -1) + 1, BATCH):
            cursor.execute(FILL, [start, start + BATCH - 1])

SQUAWK_EXCEPTIONS = {"prefer-robust-stmts": "to validate once more changes nothing"}


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("billing", "0006_hold_numbers")]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.RunSQL(FORBID_FILLING, migrations.RunSQL.noop),
        ValidateConstraint("Transfer", "transfer_has_hold_or_key"),
    ]
