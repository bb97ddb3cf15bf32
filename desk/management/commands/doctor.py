"""`manage.py doctor`: what ails the service and what to do about it."""

import json
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from desk import doctor
from desk.doctor.finding import Finding

MARKS = {True: "✓", False: "✗"}


class Command(BaseCommand):
    help = "Examine the whole service; each cross says what to do. Exit code 1 when there is one."
    requires_system_checks: list[str] = []  # they are among what is examined

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="one JSON array, for machines")

    def handle(self, *args: Any, **options: Any) -> None:
        found = []
        for finding in doctor.run_checks():
            found.append(finding)
            if not options["json"]:
                self._show(finding)
        if options["json"]:
            whole = [one.as_json() for one in found]
            self.stdout.write(json.dumps(whole, ensure_ascii=False, indent=2))
        if crosses := sum(not one.ok for one in found):
            if not options["json"]:
                self.stdout.write(f"\n{crosses} of {len(found)} need attention.")
            sys.exit(1)

    def _show(self, finding: Finding) -> None:
        style = self.style.SUCCESS if finding.ok else self.style.ERROR
        self.stdout.write(f"{style(MARKS[finding.ok])} {_name(finding):<18} {finding.detail}")
        if finding.cure:
            self.stdout.write(f"  {'':<18} → {finding.cure}")


def _name(finding: Finding) -> str:
    """What is longer than its column is set apart by a dash."""
    return finding.name if len(finding.name) <= 18 else f"{finding.name} —"
