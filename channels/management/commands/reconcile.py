from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from billing.models import SealedDay
from channels import full_reconciliation, reconciliation
from channels.reconciliation import Breach


class Command(BaseCommand):
    help = (
        "Prove the books: wallets, holds, resolutions, proofs. Exits non-zero if a check fails."
        " Reads the changes since the last sealed day; with --full everything, in portions:"
        " it continues the last unfinished run."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--full", action="store_true", help="check the whole history, and seals"
        )
        parser.add_argument("--restart", action="store_true", help="with --full: start a new run")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["full"]:
            if options["restart"]:
                full_reconciliation.restart()
            run = full_reconciliation.advance()
            breaches = [Breach(*values) for values in run.breaches]
            checks = full_reconciliation.NUMBER_OF_CHECKS
            sealed = None
        else:
            breaches = list(reconciliation.breaches())
            checks = len(reconciliation.CHECKS)
            sealed = SealedDay.last()
        for breach in breaches:
            self.stdout.write(f"{breach.check}: {breach.subject}")
        if breaches:
            raise CommandError(f"{len(breaches)} breaches of {checks} checks")
        self.stdout.write(
            f"The books agree since {sealed or 'the beginning'}: {checks} checks, no breach."
        )
