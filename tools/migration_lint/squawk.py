"""Runs squawk on a migration's SQL; its settings are in .squawk.toml."""

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
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
    done = subprocess.run(  # noqa: S603 - pinned in requirements/dev.txt
        command, input="\n".join(judged), cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode not in {0, 1}:
        raise RuntimeError(done.stderr)
    return [
        Finding(one["rule_name"], one["message"], judged[one["line"]])
        for one in json.loads(done.stdout or "[]")
    ]
