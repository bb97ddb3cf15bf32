"""Migration operations: concurrent index builds, `.sql` files, storage parameters of tables.

Each can be repeated. Django's own index operations fail on the remains of an interrupted run, keep
`lock_timeout`, with which a concurrent build gives up at any long transaction, and refuse
partitioned tables.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.contrib.postgres.operations import NotInTransactionMixin
from django.db import models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor as Editor
from django.db.backends.ddl_references import Statement
from django.db.backends.utils import truncate_name
from django.db.migrations import RunSQL
from django.db.migrations.operations import AddIndex
from django.db.migrations.state import ProjectState

from storage.statements import sql_files
from storage.statements.queries import execute, fetch_column

Model = type[models.Model]

_INVALID = """
SELECT 1 FROM pg_index WHERE indexrelid = to_regclass(quote_ident(%s)) AND NOT indisvalid
"""
_IS_PARTITIONED = "SELECT relkind = 'p' FROM pg_class WHERE oid = to_regclass(quote_ident(%s))"
_PARTITIONS_WITHOUT = sql_files.read("storage/schema_changes/partitions_without.sql")


class AddIndexConcurrently(NotInTransactionMixin, AddIndex):
    """Adds an index in a migration that has `atomic = False`."""

    atomic = False

    def describe(self) -> str:
        return f"Concurrently create index {self.index.name} of {self.model_name}"

    def database_forwards(
        self,
        app_label: str,
        schema_editor: Editor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        self._ensure_not_in_transaction(schema_editor)
        model = to_state.apps.get_model(app_label, self.model_name)
        table = model._meta.db_table  # noqa: SLF001 - Django's documented way to it
        if _is_partitioned(schema_editor, table):
            _add_to_partitions(schema_editor, table, self.index, model)
        else:
            statement = self.index.create_sql(model, schema_editor, concurrently=True)
            _build(schema_editor, self.index.name, _index_sql(statement))

    def database_backwards(
        self,
        app_label: str,
        schema_editor: Editor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        self._ensure_not_in_transaction(schema_editor)
        model = from_state.apps.get_model(app_label, self.model_name)
        if _is_partitioned(schema_editor, model._meta.db_table):  # noqa: SLF001
            # PostgreSQL cannot do it concurrently; no rows are read, and the lock times out.
            schema_editor.remove_index(model, self.index)
            return
        with _without_lock_timeout(schema_editor):
            schema_editor.remove_index(model, self.index, concurrently=True)  # type: ignore[call-arg]


def _add_to_partitions(editor: Editor, table: str, index: models.Index, model: Model) -> None:
    """Adds an index to a partitioned table: it is valid once every partition's is attached."""
    on_parent = index.create_sql(model, editor)
    _execute(editor, _index_sql(on_parent, table=f"ONLY {editor.quote_name(table)}"))
    on_partition = index.create_sql(model, editor, concurrently=True)
    parent = editor.quote_name(index.name)
    for partition in _column(editor, _PARTITIONS_WITHOUT, table, index.name):
        name = truncate_name(f"{partition}_{index.name}", 63)
        child = editor.quote_name(name)
        _build(
            editor, name, _index_sql(on_partition, table=editor.quote_name(partition), name=child)
        )
        _execute(editor, f"ALTER INDEX {parent} ATTACH PARTITION {child}")


def _build(editor: Editor, name: str, sql: str) -> None:
    """Builds an index, unless a run that was killed right after the build has left a valid one."""
    with _without_lock_timeout(editor):
        if _column(editor, _INVALID, name):
            _execute(editor, f"DROP INDEX CONCURRENTLY IF EXISTS {editor.quote_name(name)}")
        _execute(editor, sql)


def _index_sql(statement: Statement, **parts: str) -> str:
    template = re.sub(r"INDEX( CONCURRENTLY)?", r"\g<0> IF NOT EXISTS", statement.template, count=1)
    return template % {**statement.parts, **parts}


@contextmanager
def _without_lock_timeout(editor: Editor) -> Iterator[None]:
    """Lifts the lock timeout: a concurrent build waits for old transactions, but blocks nobody."""
    (before,) = _column(editor, "SHOW lock_timeout")
    _execute(editor, "SET lock_timeout = 0")
    try:
        yield
    finally:
        _execute(editor, f"SET lock_timeout = '{before}'")


def _is_partitioned(editor: Editor, table: str) -> bool:
    return _column(editor, _IS_PARTITIONED, table) == [True]


def _execute(editor: Editor, sql: str) -> None:
    editor.execute(sql, params=None)


def _column(editor: Editor, query: str, *params: str) -> list[Any]:
    with editor.connection.cursor() as cursor:
        cursor.execute(query, params)
        return [value for (value,) in cursor.fetchall()]


_ROOT = Path(__file__).resolve().parents[2]


class RunSqlFile(RunSQL):
    """Runs a file of CREATE OR REPLACE statements, which may run again.

    `digest` is `digest_of` the file when the migration was written. An edited file needs a new
    migration that runs it again; a test compares the newest one's digest.
    """

    def __init__(self, path: str, digest: str) -> None:
        self.path = path
        self.digest = digest
        super().__init__((_ROOT / path).read_text(encoding="utf-8"), RunSQL.noop)

    def deconstruct(self) -> tuple[str, list[str], dict[str, str]]:
        return type(self).__qualname__, [], {"path": self.path, "digest": self.digest}


def digest_of(path: str) -> str:
    return sha256((_ROOT / path).read_bytes()).hexdigest()[:16]


# 2 % of a month, not 20 %: at five million messages a day 20 % are those of six days.
_MONTH_PARAMETERS = {
    "autovacuum_vacuum_scale_factor": 0.02,
    "autovacuum_analyze_scale_factor": 0.02,
    "autovacuum_vacuum_insert_scale_factor": 0.05,
}
PARAMETERS: Mapping[str, Mapping[str, float]] = {
    # Each of its rows is changed two or three times and deleted: it must stay small.
    "channels_openmessage": {
        "fillfactor": 50,
        "autovacuum_vacuum_scale_factor": 0.0,
        "autovacuum_vacuum_threshold": 1000,
        "autovacuum_analyze_scale_factor": 0.0,
        "autovacuum_analyze_threshold": 1000,
        "autovacuum_vacuum_cost_delay": 0,
    },
    # Room in each page for a new version of a message that is under way (HOT).
    "channels_message": {"fillfactor": 95, **_MONTH_PARAMETERS},
    "channels_attempt": _MONTH_PARAMETERS,
    "channels_receipt": _MONTH_PARAMETERS,
    "otp_verification": _MONTH_PARAMETERS,
    "billing_transfer": _MONTH_PARAMETERS,
    "webhooks_event": _MONTH_PARAMETERS,
}
_LEAVES = "SELECT relid::regclass::text FROM pg_partition_tree(%s::regclass) WHERE isleaf"


def setting(*tables: str) -> Callable[[Any, Any], None]:
    """Sets the parameters of tables, or of all their partitions, in a migration."""

    def run(_apps: Any, _editor: Any) -> None:
        for table in tables:
            for leaf in _leaves(table):
                _set(leaf, PARAMETERS[table])

    return run


def _leaves(table: str) -> list[str]:
    return fetch_column(_LEAVES, [table]) or [table]  # a plain table has no tree


def _set(table: str, parameters: Mapping[str, float]) -> None:
    values = ", ".join(f"{name} = {value}" for name, value in parameters.items())
    execute(f"ALTER TABLE {table} SET ({values})")
