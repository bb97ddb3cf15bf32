"""`make growth`: fills databases of several sizes, measures each, and compares."""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from config.environment.variables import ROOT
from tools.bench import machine
from tools.command_line import ExitCode, names_of, numbers, parser, run_command, say, write_json
from tools.growth.figures import Figure, Group, Results, table
from tools.stack.stack import Stack, temporary_stack

SIZES = [5_000, 100_000, 1_000_000]
# Every send is answered `queued` at once: no worker runs.
SETTINGS = {"DJANGO_SETTINGS_MODULE": "config.settings", "SEND_WAITERS": "0", "LOG_LEVEL": "ERROR"}
# Autovacuum would affect some figures and not others. The other settings speed up filling; the
# number of blocks that a statement reads does not depend on them.
SERVER = {
    "autovacuum": "off",
    "shared_buffers": "1GB",
    "max_wal_size": "8GB",
    "maintenance_work_mem": "512MB",
    "checkpoint_timeout": "30min",
    "wal_level": "minimal",  # building an index writes no WAL
    "max_wal_senders": "0",
}


def main(arguments: Sequence[str]) -> int:
    """Returns 1 if a figure grew beyond its bound, 2 if it cannot be measured."""
    options = parser("make growth", __doc__)
    add, groups = options.add_argument, [str(group) for group in Group]
    add("--sizes", type=numbers, default=SIZES, help="messages, 5000,100000,1000000 by default")
    add("--companies", type=int, default=1_000)
    add("--months", type=int, default=6)
    add("--only", type=names_of(groups), default=groups, help=f"among {','.join(groups)}")
    add("--json", type=Path, help="file for all figures")
    return run_command("growth", partial(_run, options.parse_args(arguments)))


def _run(options: argparse.Namespace) -> ExitCode:
    results, fillings, sizes = Results(), [], sorted(options.sizes)
    with temporary_stack("growth", durable=False) as stack:
        with psycopg.connect(stack.url("postgres"), autocommit=True) as admin:
            for name, value in SERVER.items():
                change = sql.SQL("ALTER SYSTEM SET {} = {}")
                admin.execute(change.format(sql.Identifier(name), sql.Literal(value)))
        stack.postgres.restart()
        facts: dict[str, Any] = machine.describe(stack.postgres.directory)
        facts |= {"companies": options.companies, "months": options.months}
        for size in sizes:
            measured = _measure(options, stack, size)
            if measured is None:
                return ExitCode.NOT_MADE
            filling = measured["filling"]
            cost = f"{filling['seconds']:,.0f} s, {filling['bytes'] / 1e9:.2f} GB"
            say(f"{size:,} messages after {cost}")
            fillings.append(filling)
            for figure in measured["figures"]:
                results.add(size, Figure.of(figure))
            # After each size: a run of hours may end early.
            facts |= {"fillings": fillings, "rows": [row.as_dict() for row in results]}
            facts |= {"at": datetime.now(UTC).isoformat(timespec="seconds")}
            write_json(options.json, facts)
    say(table(results, sizes))
    exceeding = results.exceeding()
    say(f"\n{len(exceeding)} beyond their bound")
    return ExitCode.FAILED if exceeding else ExitCode.PASSED


def _measure(options: argparse.Namespace, stack: Stack, size: int) -> dict[str, Any] | None:
    """Measures on a new database, dropped afterwards; a history is sealed at its end."""
    name, into = sql.Identifier(f"growth_{size}"), stack.place / f"{size}.json"
    arguments = {"messages": size, "companies": options.companies, "months": options.months}
    arguments |= {"only": options.only, "into": str(into)}
    command = [sys.executable, "-m", "tools.growth.measuring", json.dumps(arguments)]
    environ = stack.environ | SETTINGS | {"DATABASE_URL": stack.url(f"growth_{size}")}
    with psycopg.connect(stack.url("postgres"), autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(name))
        stack.redis.flushall()
        process = subprocess.run(command, env=environ, cwd=ROOT, check=False)  # noqa: S603
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))
    if process.returncode:
        return None
    measured: dict[str, Any] = json.loads(into.read_text(encoding="utf-8"))
    return measured


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
