"""The SQL that migrations execute: recorded while they are applied to an empty database."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from django.db import connection
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor


@dataclass(frozen=True)
class Recorded:
    """What a migration executed, and the rules that it may break, each with the reason."""

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
    """Apply every migration that this database lacks; what each executed, in order."""
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
