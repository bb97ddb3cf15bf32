"""`manage.py partition_tables`: converts the tables of a database that an older release filled."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from config.storage import superseded_indexes
from config.storage.months import partitions
from otp.retention import supersede_past


class Command(BaseCommand):
    help = (
        "Drop the indexes that only earlier releases use, and partition the large tables by month; "
        "once, when no process of a release before 0.2.0 runs any longer. No rows are copied. Run "
        "it as the role that owns the tables; run it again if it says that a table was in use."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        supersede_past()
        try:
            superseded_indexes.drop()
        except OperationalError as error:
            raise CommandError(f"A table is in use, try again: {error}") from error
        for table in partitions.TABLES:
            if partitions.is_partitioned(table.name):
                self.stdout.write(f"{table.name}: partitioned already")
                continue
            try:
                partitions.convert(table)
            except OperationalError as error:
                raise CommandError(f"{table.name} is in use, try again: {error}") from error
            self.stdout.write(f"{table.name}: partitioned by {table.key}")
