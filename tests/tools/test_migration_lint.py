"""The refusals of `make migrations`, and the exceptions that an author may make."""

from collections.abc import Iterator

import pytest
from django.core.management import call_command
from django.test import override_settings

from tools.migration_lint import Recorded, judge, record_all

INDEX = 'CREATE INDEX "note" ON "channels_message" ("note");'
DROP = 'ALTER TABLE "channels_message" DROP COLUMN "note" CASCADE;'


def faults(*statements: str, atomic: bool = True, **exceptions: str) -> list[str]:
    named = {rule.replace("_", "-"): reason for rule, reason in exceptions.items()}
    result = judge(Recorded("app/migrations/0002.py", atomic, named, list(statements)))
    return [fault.split(": ")[1] for fault in result]


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        (INDEX, "require-concurrent-index-creation"),
        ('DROP INDEX IF EXISTS "note";', "require-concurrent-index-deletion"),
        (DROP, "ban-drop-column"),
        ('ALTER TABLE "t" RENAME COLUMN "a" TO "b";', "renaming-column"),
        ('ALTER TABLE "t" ALTER COLUMN "a" DROP DEFAULT;', "ban-drop-default"),
        ('ALTER TABLE "t" ADD COLUMN "a" bigint NOT NULL;', "adding-required-field"),
        ('ALTER TABLE "t" ADD CONSTRAINT "c" CHECK ("a" > 0);', "constraint-missing-not-valid"),
        ('ALTER TABLE "t" ALTER COLUMN "a" TYPE bigint;', "changing-column-type"),
    ],
)
def test_blocking_or_incompatible_migration_is_refused(statement: str, rule: str) -> None:
    assert faults(statement) == [rule]


@pytest.mark.parametrize(
    "statements",
    [
        [],
        ['CREATE TABLE "t" ("id" bigint);', 'CREATE INDEX "i" ON "t" ("id");'],
        ['ALTER TABLE "t" ADD COLUMN "a" varchar(9) DEFAULT \'\' NOT NULL;'],
        ['CREATE INDEX IF NOT EXISTS "i" ON ONLY "channels_message" ("note");'],
    ],
)
def test_non_blocking_migration_is_accepted(statements: list[str]) -> None:
    assert faults(*statements) == []


def test_migration_outside_a_transaction_must_be_repeatable() -> None:
    concurrently = 'CREATE INDEX CONCURRENTLY {}"note" ON "channels_message" ("note");'

    assert faults(concurrently.format(""), atomic=False) == ["prefer-robust-stmts"]
    assert faults(concurrently.format("IF NOT EXISTS "), atomic=False) == []


def test_rule_is_excepted_only_with_a_reason() -> None:
    assert faults(DROP, ban_drop_column="nothing reads it since 0.1.0") == []
    assert faults(DROP, ban_drop_column="") == ["ban-drop-column"]


def test_unneeded_exception_is_refused() -> None:
    assert faults(ban_drop_column="long ago") == [
        "SQUAWK_EXCEPTIONS names ban-drop-column, which it does not break"
    ]


@pytest.fixture
def _unapplied() -> Iterator[None]:
    with override_settings(MIGRATION_MODULES={"api_docs": "tests.accounts.scratch.migrations"}):
        yield
        call_command("migrate", "api_docs", "zero", verbosity=0)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_unapplied")
def test_sql_of_each_migration_is_recorded_as_it_runs() -> None:
    first, second, third, *_others = record_all()

    assert first.path == "tests/accounts/scratch/migrations/0001_table.py"
    assert [sql[:22] for sql in first.statements] == ['CREATE TABLE "scratch"']
    assert second.statements == ['ALTER TABLE "scratch" ADD COLUMN "size" integer NULL;']
    assert not third.atomic
    assert 'CREATE INDEX CONCURRENTLY IF NOT EXISTS "scratch_note" ON "scratch" ("note");' in (
        third.statements
    )
    assert [list(judge(migration)) for migration in (first, second, third)] == [[], [], []]
