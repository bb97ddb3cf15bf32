"""`manage.py migrate`: Django's command, made safe while the service keeps running."""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder

from storage import sessions
from storage.schema_changes.runs import (
    LocksNotAvailableError,
    may_set_deadlock_timeout,
    one_run,
    render_first,
    reporting_waits,
    retry,
    timeouts,
)

# Seconds: longer than PostgreSQL's `deadlock_timeout` of 1 s, after which an autovacuum yields to
# us; shorter than the lock timeout of the service, 3 s, so that statements behind us succeed. Where
# the role may shorten `deadlock_timeout`, this is 0.5 s at most.
_LOCK_TIMEOUT = 2.0
_GIVE_UP_AFTER = 900.0
_BEFORE_0_2_0 = ("accounts", "0001_squashed")  # 0.2.0 replaced its migrations by one per app
_CANNOT_YIELD = (
    "In a deadlock with a migration a request may fail: this role may not set deadlock_timeout."
    " As a superuser, once: GRANT SET ON PARAMETER deadlock_timeout TO {role}"
)


class Command(migrate.Command):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--lock-timeout",
            type=float,
            default=_LOCK_TIMEOUT,
            help="Seconds to wait for a lock, while others queue behind us (default: %(default)s).",
        )
        parser.add_argument(
            "--give-up-after",
            type=float,
            default=_GIVE_UP_AFTER,
            help="Seconds after which no further lock attempt is made (default: %(default)s).",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["plan"] or options["check_unapplied"]:
            super().handle(*args, **options)
        else:
            self._migrate(*args, **options)

    def _migrate(self, *args: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        if _BEFORE_0_2_0 in MigrationRecorder(connection).applied_migrations():
            raise CommandError(
                "This database is from a release before 0.2.0, the first release that can be"
                " upgraded: see “From 0.1.0” in docs/operations/upgrade.md."
            )
        if sessions.is_pooled():
            raise CommandError(
                "DATABASE_URL leads to a pooler: this command needs PostgreSQL's own address."
            )
        if not may_set_deadlock_timeout(connection):
            self._say(_CANNOT_YIELD.format(role=connection.settings_dict["USER"]))
        self._applying = ""
        with (
            timeouts(connection, lock=options["lock_timeout"]),
            reporting_waits(connection, self._say),
            one_run(connection, self._say),
        ):
            try:
                # An atomic migration is rolled back and run again; the steps of others can be
                # repeated (`make check` verifies it). Applied migrations are recorded.
                django_migrate = super().handle
                retry(
                    lambda: django_migrate(*args, **options),
                    give_up_after=options["give_up_after"],
                    say=self._say,
                )
            except LocksNotAvailableError as error:
                raise CommandError(
                    f"{self._applying} did not get its locks: {error.__cause__}".strip()
                ) from error

    def migration_progress_callback(
        self, action: str, migration: Any = None, fake: bool = False
    ) -> None:
        if action in {"apply_start", "unapply_start"}:
            self._applying = str(migration)
        if action == "apply_start":
            render_first(migration)
        super().migration_progress_callback(action, migration, fake)

    def _say(self, line: str) -> None:
        self.stdout.write(f"\n    {line}")
        self.stdout.flush()
