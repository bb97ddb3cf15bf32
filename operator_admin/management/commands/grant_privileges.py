"""`manage.py grant_privileges ROLE`: grants the application's role only what it needs."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from operator_admin import database_role


class Command(BaseCommand):
    help = (
        "Give the application's role in PostgreSQL its privileges. Run it as the role that owns "
        "the tables, after each `migrate`. See docs/operations/security.md."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("role", help="the role in the application's DATABASE_URL")

    def handle(self, *args: Any, **options: Any) -> None:
        role = options["role"]
        try:
            database_role.grant(role)
        except database_role.UnknownRoleError:
            raise CommandError(
                f"There is no role {role}: CREATE ROLE {role} LOGIN PASSWORD '…' first."
            ) from None
        self.stdout.write(f"{role} may do what the application needs.")
