"""`manage.py restore DIR --prove`: restores a backup, holds its queues back, and proves it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

from operator_admin.backup import BackupError, dumps, postgres
from operator_admin.backup.hold_back import HeldBack, hold_back
from operator_admin.backup.manifest import Manifest, token_sums
from operator_admin.backup.postgres import close_database, open_database, session_without_timeouts
from operator_admin.backup.proof import WRONG_BOOKS_REMEDY, last_transfer, prove
from operator_admin.doctor.finding import Finding, finding, passed

CLOSED = (
    "The database stays closed: every session but this command's is read-only. Restore again with "
    "--replace; to open it all the same: ALTER DATABASE {} RESET default_transaction_read_only."
)
OPENED = (
    "The database is open. Now: grant_privileges for the application's role, FLUSHALL in Redis, "
    "start the processes, doctor."
)


class Command(BaseCommand):
    help = (
        "Restore a backup into the empty database of DATABASE_URL. Open messages expire with "
        "their holds returned; old webhooks and e-mails are not sent; everybody is signed out."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("directory", type=Path, nargs="?", help="written by `backup`")
        parser.add_argument("--prove", action="store_true", help="check the copy, print results")
        parser.add_argument(
            "--already-restored",
            action="store_true",
            help="the database came back by other means (base backup and WAL): treat it the same",
        )
        parser.add_argument("--replace", action="store_true", help="discard the database's content")
        parser.add_argument("--confirm", metavar="DATABASE", help="its name, instead of a question")
        parser.add_argument(
            "--erasures",
            type=Path,
            metavar="FILE",
            help="a list written by `reapply_erasures --list` that is newer than the backup's own",
        )
        parser.add_argument("--allow-missing-keys", action="store_true")
        postgres.add_arguments(parser, "pg_restore", jobs="tables restored at once")

    def handle(self, *args: Any, **options: Any) -> None:
        if (options["directory"] is None) != options["already_restored"]:
            raise CommandError("Name the backup's directory, or --already-restored.")
        path: Path | None = options["erasures"]
        if path and not options["prove"]:
            raise CommandError("--erasures needs --prove.")
        try:  # before the database is touched
            newer = path.read_text(encoding="utf-8").splitlines() if path else []
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{path}: {error}") from None
        try:
            with session_without_timeouts():
                self._restore(options, newer)
        except (BackupError, OSError) as error:
            raise CommandError(str(error)) from None

    def _restore(self, options: dict[str, Any], erasures: list[str]) -> None:
        findings = self._adopt(options) if options["already_restored"] else self._load(options)
        copied = token_sums()
        last_id = last_transfer()
        findings += self._show([_held_back(hold_back())])
        if options["prove"]:
            findings += self._show(prove(copied, last_id, erasures=erasures))
        if not all(finding.ok for finding in findings):
            raise BackupError(CLOSED.format(_database()))
        open_database()
        self.stdout.write(OPENED)

    def _load(self, options: dict[str, Any]) -> list[Finding]:
        directory = options["directory"].absolute()
        choices = dumps.Choices(
            options["jobs"], options["programs"], options["replace"], options["allow_missing_keys"]
        )
        manifest = Manifest.read(directory)
        dumps.check_backup(manifest, directory, choices)
        dumps.check_database(manifest, choices)
        if not dumps.is_empty():
            self._confirm(f"Everything in the database {_database()} will be lost.", options)
        close_database()
        try:
            if not dumps.is_empty():
                dumps.empty_database()
            differing = dumps.load(manifest, directory, choices)
            migrated = dumps.migrate()
        except BackupError as error:
            raise BackupError(f"{error}\n{CLOSED.format(_database())}") from None
        return self._show(_load_findings(manifest, differing, migrated))

    def _adopt(self, options: dict[str, Any]) -> list[Finding]:
        dumps.require_no_sessions()
        self._confirm(f"Every open message in {_database()} will expire.", options)
        close_database()
        migrated = dumps.migrate()
        return self._show([passed("migrated", ", ".join(migrated) or "nothing to do")])

    def _confirm(self, warning: str, options: dict[str, Any]) -> None:
        typed = options["confirm"]
        if typed is None:
            typed = input(f"{warning} Type the name of the database to go on: ")
        if typed != _database():
            raise BackupError("Not confirmed: nothing was changed.")

    def _show(self, findings: Iterable[Finding]) -> list[Finding]:
        printed = []
        for result in findings:
            style = self.style.SUCCESS if result.ok else self.style.ERROR
            sign = style("✓" if result.ok else "✗")
            self.stdout.write(f"{sign} {result.name:<13} {result.detail}")
            if result.remedy:
                self.stdout.write(f"  {'':<13} → {result.remedy}")
            printed.append(result)
        return printed


def _load_findings(manifest: Manifest, differing: list[str], migrated: list[str]) -> list[Finding]:
    summary = f"{len(manifest.files)} files match their SHA-256, as of {manifest.taken_at}"
    copied = "; ".join(differing[:5]) or f"{len(manifest.sums)} sums equal the manifest's"
    return [
        passed("files", summary),
        finding("copied", copied, WRONG_BOOKS_REMEDY, ok=not differing),
        passed("migrated", ", ".join(migrated) or f"nothing to do since {manifest.release}"),
    ]


def _held_back(held: HeldBack) -> Finding:
    return passed(
        "held back",
        f"{held.messages} open messages expired, {held.webhooks} webhooks failed (companies may "
        f"replay them), {held.emails} e-mails and {held.notices} notices dropped, "
        f"{held.sessions} sessions ended, automatic top-ups of {held.top_ups} companies paused",
    )


def _database() -> str:
    return str(connection.settings_dict["NAME"])
