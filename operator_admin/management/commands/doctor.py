"""`manage.py doctor`: diagnoses the service and says what to do."""

import json
import sys
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.utils import translation

from catalogue.languages import page_languages
from operator_admin import doctor
from operator_admin.doctor.finding import Finding

MARKS = {True: "✓", False: "✗"}


class Command(BaseCommand):
    help = "Check the whole service; each failed check says what to do. Exit code 1 if one fails."
    requires_system_checks: list[str] = []  # the doctor runs them itself

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="one JSON array, for machines")

    def handle(self, *args: Any, **options: Any) -> None:
        findings = []
        with translation.override(page_languages.worldwide()):  # as the documentation quotes it
            for finding in doctor.run_checks():
                findings.append(finding)
                if not options["json"]:
                    self._show(finding)
        if options["json"]:
            array = [asdict(finding) for finding in findings]
            self.stdout.write(json.dumps(array, ensure_ascii=False, indent=2))
        if failures := sum(not finding.ok for finding in findings):
            if not options["json"]:
                self.stdout.write(f"\n{failures} of {len(findings)} need attention.")
            sys.exit(1)

    def _show(self, finding: Finding) -> None:
        style = self.style.SUCCESS if finding.ok else self.style.ERROR
        self.stdout.write(
            f"{style(MARKS[finding.ok])} {_column_name(finding):<18} {finding.detail}"
        )
        if finding.remedy:
            self.stdout.write(f"  {'':<18} → {finding.remedy}")


def _column_name(finding: Finding) -> str:
    """Appends a dash to a name longer than its column."""
    return finding.name if len(finding.name) <= 18 else f"{finding.name} —"
