"""`manage.py clickhouse_tables`: creates the ClickHouse tables of clicks."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from links.clicks import clickhouse_tables
from storage import clickhouse


class Command(BaseCommand):
    help = "Create the table of clicks in ClickHouse, unless it is there. Safe to repeat."

    def handle(self, *args: Any, **options: Any) -> None:
        if not clickhouse.is_configured():
            raise CommandError("CLICKHOUSE_URL is not set")
        try:
            is_new = clickhouse_tables.create()
        except clickhouse.ClickHouseError as error:
            raise CommandError(f"ClickHouse: {error}") from None
        if is_new:
            clickhouse_tables.count_as_complete()  # contents of another table
        state = "created" if is_new else "was there"
        self.stdout.write(f"{clickhouse_tables.TABLE}: {state}")
