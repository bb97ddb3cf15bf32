"""`manage.py backup DIR`: dumps the database with a manifest that proves a restored copy."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from operator_admin.backup import BackupError, postgres
from operator_admin.backup.dumps import take_backup
from operator_admin.backup.manifest import ABSENT


class Command(BaseCommand):
    help = (
        "Dump the database of a running service into a new directory, with a manifest. Secrets "
        "and keys are not in it: see docs/operations/backup.md."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("directory", type=Path, help="a directory that does not exist yet")
        postgres.add_arguments(parser, "pg_dump", jobs="tables dumped at once")

    def handle(self, *args: Any, **options: Any) -> None:
        directory = options["directory"].absolute()
        try:
            manifest = take_backup(directory, jobs=options["jobs"], programs=options["programs"])
        except (BackupError, OSError) as error:
            raise CommandError(str(error)) from None
        size = sum(entry.size for entry in manifest.files.values())
        self.stdout.write(
            f"{directory}: {len(manifest.files)} files, {size / 1e6:.1f} MB, as of "
            f"{manifest.taken_at}, by release {manifest.release}."
        )
        for setting, keys in manifest.keys.items():
            if keys:
                self.stdout.write(f"It needs {setting} {', '.join(keys)}; keep them apart from it.")
            for key_id in (name for name, fingerprint in keys.items() if fingerprint == ABSENT):
                self.stderr.write(f"{setting} lacks {key_id!r} already: that data is lost.")
