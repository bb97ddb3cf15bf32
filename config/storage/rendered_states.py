"""Has a migration's Python done before its first lock.

Django computes and renders the models anew between two operations of a migration. On a busy machine
that takes a second, in which everybody waits for the table that the first operation altered.
"""

from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations import Migration
from django.db.migrations.state import ProjectState


def render_first(migration: Migration) -> None:
    """Make `apply` of a migration in a transaction render its states, then run its operations."""
    if not migration.atomic or migration.initial:
        return  # it keeps no lock from one operation to the next, or nobody uses its tables yet

    def apply(
        project_state: ProjectState, schema_editor: BaseDatabaseSchemaEditor, **_options: Any
    ) -> ProjectState:
        states = _rendered(migration, project_state)
        label = migration.app_label
        for operation, before, after in zip(migration.operations, states, states[1:], strict=False):
            operation.database_forwards(label, schema_editor, before, after)
        return states[-1]

    migration.apply = apply  # type: ignore[assignment, method-assign]


def _rendered(migration: Migration, state: ProjectState) -> list[ProjectState]:
    """The state before each operation, and that after the last."""
    states = [state.clone()]
    for operation in migration.operations:
        operation.state_forwards(migration.app_label, state)
        states.append(state.clone())
    for one in states:
        _ = one.apps
    return states
