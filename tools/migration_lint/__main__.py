"""`make migrations`: lint what migrations since the last release do to a database in use."""

import sys
from collections.abc import Iterator

import django

from tools.last_release import NoReleaseError, files, last_release
from tools.migration_lint import squawk
from tools.migration_lint.statements import Recorded, record_all


def main() -> int:
    django.setup()
    try:
        release = last_release(squawk.ROOT)
    except NoReleaseError as error:
        _say(f"Migrations are not linted: {error}")
        return 0
    new = _made_since(files(squawk.ROOT, release))
    recorded = [one for one in record_all() if one.path in new] if new else []
    faults = [fault for one in recorded for fault in judge(one)]
    _say(*faults, f"{len(new)} migrations since {release.version}, {len(faults)} faults")
    return 1 if faults else 0


def judge(recorded: Recorded) -> Iterator[str]:
    """What is wrong with a migration, in lines for its author."""
    findings = squawk.lint(recorded.statements, atomic=recorded.atomic)
    for rule, message, statement in findings:
        if not recorded.exceptions.get(rule):
            yield f"{recorded.path}: {rule}: {message}\n    {statement[:300]}"
    for rule in recorded.exceptions.keys() - {finding.rule for finding in findings}:
        yield f"{recorded.path}: SQUAWK_EXCEPTIONS names {rule}, which it does not break"


def _made_since(released: set[str]) -> set[str]:
    paths = {str(path.relative_to(squawk.ROOT)) for path in squawk.ROOT.glob("*/migrations/0*.py")}
    return paths - released


def _say(*lines: str) -> None:
    for line in lines:
        sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
