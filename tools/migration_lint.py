"""`make migrations`: lints the SQL of migrations made since the last release."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import django
from django.db import connection
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor

from tools.last_release import NoReleaseError, files, last_release

ROOT = Path(__file__).resolve().parents[1]
# The index of a partitioned table is one of no rows, until those of the partitions are attached.
_OF_NO_ROWS = re.compile(r"CREATE (UNIQUE )?INDEX .* ON ONLY ")


class Finding(NamedTuple):
    rule: str
    message: str
    statement: str


def lint(statements: Iterable[str], *, atomic: bool) -> list[Finding]:
    judged = [sql for sql in statements if not _OF_NO_ROWS.match(sql)]
    if not judged:
        return []
    command = [str(Path(sys.executable).with_name("squawk")), "--reporter", "json"]
    if atomic:
        command.append("--assume-in-transaction")
    process = subprocess.run(  # noqa: S603 - pinned in requirements/dev.txt
        command, input="\n".join(judged), cwd=ROOT, capture_output=True, text=True, check=False
    )
    if process.returncode not in {0, 1}:
        raise RuntimeError(process.stderr)
    return [
        Finding(row["rule_name"], row["message"], judged[row["line"]])
        for row in json.loads(process.stdout or "[]")
    ]


@dataclass(frozen=True)
class Recorded:
    """The statements of a migration, and the rules that it may break, each with the reason."""

    path: str
    atomic: bool
    exceptions: Mapping[str, str]
    statements: list[str] = field(default_factory=list)


class Recorder:
    def __init__(self) -> None:
        self.recorded: list[Recorded] = []
        self._is_applying = False

    def on_progress(self, action: str, migration: Any = None, fake: bool | None = False) -> None:
        if action == "apply_start":
            self.recorded.append(_empty_record(migration))
        self._is_applying = action == "apply_start"

    def on_execute(
        self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any
    ) -> Any:
        # With parameters it is no DDL, but a look into the catalogue or at rows.
        if self._is_applying and not params:
            self.recorded[-1].statements.append(_on_one_line(str(sql)))
        return execute(sql, params, many, context)


def record_all() -> list[Recorded]:
    """Applies the migrations that this database lacks; returns what each executed, in order."""
    recorder = Recorder()
    executor = MigrationExecutor(connection, recorder.on_progress)
    with connection.execute_wrapper(recorder.on_execute):
        executor.migrate(executor.loader.graph.leaf_nodes())
    return recorder.recorded


def _empty_record(migration: Migration) -> Recorded:
    module = type(migration).__module__
    exceptions = getattr(import_module(module), "SQUAWK_EXCEPTIONS", {})
    return Recorded(f"{module.replace('.', '/')}.py", migration.atomic, exceptions)


def _on_one_line(sql: str) -> str:
    without_comments = (line.partition("--")[0].strip() for line in sql.splitlines())
    return " ".join(line for line in without_comments if line).rstrip(";") + ";"


def main() -> int:
    django.setup()
    try:
        release = last_release(ROOT)
    except NoReleaseError as error:
        _say(f"Migrations are not linted: {error}")
        return 0
    new = _made_since(files(ROOT, release))
    recorded = [row for row in record_all() if row.path in new] if new else []
    faults = [fault for row in recorded for fault in judge(row)]
    _say(*faults, f"{len(new)} migrations since {release.version}, {len(faults)} faults")
    return 1 if faults else 0


def judge(recorded: Recorded) -> Iterator[str]:
    """The faults of a migration, in lines for its author."""
    findings = lint(recorded.statements, atomic=recorded.atomic)
    for rule, message, statement in findings:
        if not recorded.exceptions.get(rule):
            yield f"{recorded.path}: {rule}: {message}\n    {statement[:300]}"
    for rule in recorded.exceptions.keys() - {finding.rule for finding in findings}:
        yield f"{recorded.path}: SQUAWK_EXCEPTIONS names {rule}, which it does not break"


def _made_since(released: set[str]) -> set[str]:
    paths = {str(path.relative_to(ROOT)) for path in ROOT.glob("*/migrations/0*.py")}
    return paths - released


def _say(*lines: str) -> None:
    for line in lines:
        sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
