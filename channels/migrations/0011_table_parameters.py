"""Room in pages for rows that change, and autovacuum by table; a new month has what its elder has."""

from importlib import import_module

from django.db import migrations

from config.storage import table_parameters

CREATE_MONTH: str = import_module("accounts.migrations.0005_month_partitions").CREATE_MONTH

_BEFORE = "  FOR local_index IN\n"
_COPY = """  IF (SELECT reloptions FROM pg_class WHERE oid = elder) IS NOT NULL THEN
    EXECUTE format('ALTER TABLE public.%I SET (%s)', name,
      (SELECT array_to_string(reloptions, ', ') FROM pg_class WHERE oid = elder));
  END IF;
"""


def _replacing(function: str) -> str:
    """Without its REVOKE: a function that is replaced keeps its rights."""
    body = function.split("REVOKE ALL ON FUNCTION", maxsplit=1)[0]
    return body.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0007_events_by_month"),
        ("billing", "0009_transfers_by_month"),
        ("channels", "0010_fill_open_messages"),
        ("otp", "0004_verifications_by_month"),
    ]

    operations = [
        migrations.RunSQL(
            _replacing(CREATE_MONTH.replace(_BEFORE, _COPY + _BEFORE, 1)), _replacing(CREATE_MONTH)
        ),
        migrations.RunPython(
            table_parameters.setting(*table_parameters.PARAMETERS), migrations.RunPython.noop
        ),
    ]
