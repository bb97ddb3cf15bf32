"""CPU by SQL statement, as PostgreSQL logs it."""

import time

import psycopg
import pytest

from config.local.embedded import temporary
from tools.bench.profile import statements, windows
from tools.bench.profile.statements import Entry, StatementNames

HEAVY = "SELECT count(*) FROM generate_series(1, %s::int) AS n WHERE n %% 3 = 0"
INSERT = "INSERT INTO kept (n) SELECT generate_series(1, %(many)s::int)"
NAMES = StatementNames({"module.HEAVY": HEAVY, "module.INSERT": INSERT})


@pytest.mark.slow
def test_statements_are_named_and_add_up_to_the_backend() -> None:
    with temporary(environ={}) as servers:
        assert servers.postgres is not None
        postgres = servers.postgres
        with psycopg.connect(postgres.url, autocommit=True) as admin:
            statements.prepare(admin, "kvitok")
            admin.execute("CREATE TABLE kept (n int)")
            statements.switch(admin, on=True)
            time.sleep(0.3)
            start = postgres.log.stat().st_size
            with psycopg.connect(postgres.url, autocommit=True) as session:
                pid = session.info.backend_pid
                began = windows.cpu_seconds(pid)
                for _ in range(20):
                    session.execute(HEAVY, [60_000])
                    session.execute(INSERT, {"many": 500})
                spent = windows.cpu_seconds(pid) - began
        text = postgres.log.read_bytes()[start:].decode()

    costs = statements.account(statements.parse(text), {pid: "web"}, NAMES)["web"]

    heavy, insert = costs.statements["module.HEAVY"], costs.statements["module.INSERT"]
    assert (heavy.calls, insert.calls) == (20, 20)
    assert heavy.execute > 3 * insert.execute
    assert costs.cpu == pytest.approx(spent, rel=0.1)
    assert costs.logging < 0.3 * spent


def test_what_follows_a_statement_is_its_commit() -> None:
    entries = [
        Entry(7, "BIND", 1.0, 11.0, 0.0, INSERT),
        Entry(7, "EXECUTE", 4.0, 15.5, 0.0, INSERT),  # half a second to write the log
        Entry(7, "BIND", 1.0, 20.0, 0.0, INSERT),
        Entry(7, "EXECUTE", 4.0, 24.5, 0.0, INSERT),
    ]

    costs = statements.account(entries, {7: "web"}, NAMES)["web"]

    assert costs.statements["module.INSERT"].after == 3.0
    assert costs.logging == 1.5
    assert costs.cpu == 14.5  # from the first entry's start to the end of the last


def test_commit_belongs_to_what_it_commits() -> None:
    texts = ["BEGIN", INSERT, "COMMIT"]
    entries = [Entry(7, "QUERY", 1.0, 2.0 * n, 0.0, text) for n, text in enumerate(texts, 1)]

    costs = statements.account(entries, {}, NAMES)["postgres, other"]

    assert set(costs.statements) == {"BEGIN", "module.INSERT", "COMMIT of module.INSERT"}


def test_placeholders_and_comments_do_not_hide_a_name() -> None:
    names = StatementNames({"m.WITH_HOLE": "SELECT id FROM t -- why\nWHERE {condition} LIMIT %s"})

    assert NAMES.of("INSERT INTO kept (n)\n  SELECT generate_series(1, $1::int)") == "module.INSERT"
    assert names.of("SELECT id FROM t WHERE a = $1 AND b LIMIT $2") == "m.WITH_HOLE"
    assert names.of('UPDATE "accounts_key" SET x = $1') == "UPDATE accounts_key"


def test_statements_of_the_service_have_names() -> None:
    from channels import sql  # noqa: PLC0415
    from channels.outcomes import receipts_sql  # noqa: PLC0415 - imported, so that its statements are known

    names = StatementNames.of_service()

    statement = receipts_sql.store(has_recipients=True, skips_known=True)
    assert names.of(statement) == "channels.outcomes.receipts_sql._STORE"
    assert names.of(sql.recent(statement)) == "channels.outcomes.receipts_sql._STORE"
    assert names.of(sql.recent(sql.CLAIM)) == "channels.sql.CLAIM"
