"""`manage.py reapply_erasures [FILE]`: repeats erasures after a backup was restored."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from persons import erasure_list
from persons.erasure import reapply_erasures


class Command(BaseCommand):
    help = (
        "Erases again the persons on the list of erasures, after a restore. The list in the "
        "database is as old as the backup: --list prints it, to be kept next to the backups."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", nargs="?", type=Path, help="a newer list, added first")
        parser.add_argument("--list", action="store_true", help="only print the list")

    def handle(self, *, file: Path | None, **options: Any) -> None:
        if options["list"]:
            self.stdout.writelines(f"{line}\n" for line in erasure_list.dump())
            return
        if file:
            try:
                count = erasure_list.load(file.read_text(encoding="utf-8").splitlines())
            except (OSError, ValueError) as error:
                raise CommandError(f"{file} is not what --list prints: {error!r}") from None
            self.stdout.write(f"{count} entries read.")
        result = reapply_erasures()
        self.stdout.write(f"{result.erased} persons erased again.")
        if result.unfinished:
            raise CommandError(
                f"{result.unfinished} persons have messages that are open again: run this "
                "again when these have ended, a day after the restore at the latest."
            )
        if result.unknown:
            raise CommandError(
                f"{result.unknown} entries are under a key that is no longer in WEBHOOK_KEYS: "
                "append that key and run this again."
            )
