"""`manage.py archive_months` as it is run in a year."""

from datetime import UTC, date, timedelta
from io import StringIO
from pathlib import Path

import time_machine
from django.core.management import call_command
from django.utils import timezone

from channels import full_reconciliation
from operator_admin import archives
from storage.months.calendar import next_month


def archive(directory: Path, *options: str | Path, days: int = 365) -> str:
    """Runs our processes `days` later; the database's own clock goes on."""
    out = StringIO()
    before = next_month(timezone.now().astimezone(UTC).date())
    with time_machine.travel(timezone.now() + timedelta(days=days), tick=True):
        arguments = map(str, options or ("--before", f"{before:%Y-%m}"))
        call_command("archive_months", *arguments, directory=directory, stdout=out)
    return out.getvalue()


def take_out(month: date) -> None:
    """Archives without a file, as far as the books and the pages see it."""
    archives.close(month, print)
    archives.drop(month)


def breaches() -> list[str]:
    """Returns contradictions between the remaining rows, the wallets and the seals."""
    return [f"{breach.check}: {breach.subject}" for breach in full_reconciliation.breaches()]
