from typing import Any

from django.core.management.base import BaseCommand, CommandError

from channels import reconciliation


class Command(BaseCommand):
    help = "Prove the books: wallets, holds, resolutions, proofs. Non-zero when something is off."

    def handle(self, *args: Any, **options: Any) -> None:
        found = list(reconciliation.breaches())
        for breach in found:
            self.stdout.write(f"{breach.check}: {breach.subject}")
        if found:
            raise CommandError(f"{len(found)} breaches of {len(reconciliation.CHECKS)} checks")
        self.stdout.write(f"The books agree: {len(reconciliation.CHECKS)} checks, no breach.")
