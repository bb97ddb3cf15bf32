"""CPU of each SQL statement, from PostgreSQL's log with `log_statement_stats`.

pg_stat_statements is not in the embedded server. The log is more exact: for each message of the
protocol it has the CPU of that message and of the whole backend so far. The difference between two
entries is what happened in between: the commit, the protocol, and the log's own writing.
"""

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from statistics import median
from typing import NamedTuple

import psycopg

PACKAGES = (
    "accounts",
    "api",
    "billing",
    "channels",
    "links",
    "otp",
    "persons",
    "storage",
    "webhooks",
)
_COMMENT = re.compile(r"--.*")
_PARAMETER = re.compile(r"\$\d+|%\(\w+\)[sbt]|%[sbt]")
# The placeholders of `storage.months.recent_ids.within`, and their values.
_MONTHS = re.compile(
    r":(?:first_id|last_id|start|end)\b|'[0-9a-f-]{36}'|'\d{4}-\d\d-01 00:00:00\+00:00'"
)
_HOLE = re.compile(r"\\\{\w*\\\}")
_TABLE = re.compile(r'\b(?:FROM|INTO|UPDATE)\s+"?(\w+)"?', re.IGNORECASE)
_MIN_LENGTH = 20  # characters of a constant that may be a statement
_SQL = ("SELECT", "WITH", "INSERT", "UPDATE", "DELETE")


def normalised(text: str) -> str:
    """The statement without comments, with its placeholders replaced by `?`."""
    one_line = " ".join(_COMMENT.sub("", text).split())
    return _PARAMETER.sub("?", _MONTHS.sub("?", one_line)).replace("%%", "%")


class StatementNames:
    """Names statements by constants, whose text may have `{}` where values are filled in."""

    def __init__(self, constants: Mapping[str, str]) -> None:
        self._whole: dict[str, str] = {}
        self._templates: list[tuple[int, re.Pattern[str], str]] = []
        for name, text in constants.items():
            plain = normalised(text)
            holes = re.escape(plain)
            if _HOLE.search(holes):
                pattern = re.compile(_HOLE.sub(".*", holes))
                self._templates.append((len(plain), pattern, name))
            else:
                self._whole.setdefault(plain, name)
        self._templates.sort(key=lambda each: -each[0])
        self.of = cache(self._of)

    @classmethod
    def of_service(cls) -> "StatementNames":
        """Names from all imported modules of the service."""
        return cls(
            {
                f"{module_name}.{name}{part}": text
                for module_name, module in sorted(sys.modules.items())
                if module_name.partition(".")[0] in PACKAGES
                for name, value in vars(module).items()
                for part, text in (value if isinstance(value, dict) else {"": value}).items()
                if isinstance(text, str) and len(text) > _MIN_LENGTH
                if normalised(text).startswith(_SQL)
            }
        )

    def _of(self, text: str) -> str:
        plain = normalised(text)
        if plain in self._whole:
            return self._whole[plain]
        for _length, pattern, name in self._templates:
            if pattern.fullmatch(plain):
                return name
        verb = plain.split(" ", 1)[0].upper().rstrip(";")
        table = _TABLE.search(plain)
        return f"{verb} {table[1]}" if table else " ".join(plain.split()[:4])


_HEAD = re.compile(r"\S+ \S+ \S+ \[(\d+)\] (LOG|DETAIL|STATEMENT):  (.*)")
_KIND = re.compile(r"(PARSE|BIND|EXECUTE)(?: MESSAGE)? STATISTICS|(QUERY) STATISTICS")
_OWN = re.compile(r"!\s+([\d.]+) s user, ([\d.]+) s system, [\d.]+ s elapsed")
_SUM = re.compile(r"!\s+\[([\d.]+) s user, ([\d.]+) s system total\]")
TRANSACTION = ("BEGIN", "COMMIT", "ROLLBACK")


class Entry(NamedTuple):
    pid: int
    kind: str  # PARSE, BIND, EXECUTE or QUERY
    own: float  # CPU seconds of this message
    total: float  # CPU seconds of the backend so far
    statement: str


@dataclass
class Cost:
    """The costs of all calls of a statement, in seconds."""

    calls: int = 0
    parse: float = 0.0
    bind: float = 0.0  # includes planning without a generic plan
    execute: float = 0.0
    after: float = 0.0  # the commit of a statement in autocommit, the answer, the next request

    @property
    def cpu(self) -> float:
        return self.parse + self.bind + self.execute + self.after

    def parts(self) -> Iterator[tuple[str, float]]:
        for name in ("calls", "parse", "bind", "execute", "after", "cpu"):
            yield name, getattr(self, name)


@dataclass
class Costs:
    """The costs of one program's backends."""

    statements: defaultdict[str, Cost] = field(default_factory=lambda: defaultdict(Cost))
    logging: float = 0.0


def prepare(store: psycopg.Connection, database: str) -> None:
    """Makes sessions that start later log the statement of an entry, without parameters."""
    store.execute(f"ALTER DATABASE {database} SET log_min_error_statement = 'log'".encode())


def switch(store: psycopg.Connection, *, on: bool) -> None:
    store.execute(f"ALTER SYSTEM SET log_statement_stats = {'on' if on else 'off'}".encode())
    store.execute("SELECT pg_reload_conf()")


def parse(text: str) -> Iterator[Entry]:
    record: list[tuple[int, str, str]] = []
    for line in text.splitlines():
        head = _HEAD.match(line)
        if head is None:
            if record:
                pid, part, text_so_far = record[-1]
                record[-1] = pid, part, f"{text_so_far}\n{line}"
            continue
        if head[2] == "LOG":
            yield from _entry(record)
            record = []
        record.append((int(head[1]), head[2], head[3]))
    yield from _entry(record)


def _entry(record: list[tuple[int, str, str]]) -> Iterator[Entry]:
    if len(record) != 3 or (kind := _KIND.fullmatch(record[0][2])) is None:
        return
    ours, total = _OWN.search(record[1][2]), _SUM.search(record[1][2])
    if ours and total:
        cpu = float(ours[1]) + float(ours[2])
        so_far = float(total[1]) + float(total[2])
        name = kind[1] or kind[2]
        yield Entry(record[0][0], name, cpu, so_far, record[2][2])


def account(
    entries: Iterable[Entry], programs: Mapping[int, str], names: StatementNames
) -> dict[str, Costs]:
    """The time that each program's backends spent, by statement."""
    of_backend: defaultdict[int, list[Entry]] = defaultdict(list)
    for entry in entries:
        of_backend[entry.pid].append(entry)
    # The time to write one log entry: the gap between a bind and its execution.
    gaps = [
        _gap(before, after)
        for costs in of_backend.values()
        for before, after in pairwise(costs)
        if (before.kind, after.kind) == ("BIND", "EXECUTE")
    ]
    logging = median(gaps) if gaps else 0.0
    summed: defaultdict[str, Costs] = defaultdict(Costs)
    for pid, costs in of_backend.items():
        _account(summed[programs.get(pid, "postgres, other")], costs, logging, names)
    return dict(summed)


def _gap(before: Entry, after: Entry) -> float:
    return max(0.0, after.total - after.own - before.total)


def _account(costs: Costs, entries: list[Entry], logging: float, names: StatementNames) -> None:
    transaction = previous = ""
    for number, entry in enumerate(entries):
        name = names.of(entry.statement)
        if name in TRANSACTION:
            name = f"{name} of {transaction}" if name != "BEGIN" else name
        else:
            transaction = name
        cost = costs.statements[name]
        if number:
            gap = _gap(entries[number - 1], entry)
            costs.logging += min(gap, logging)
            costs.statements[previous].after += max(0.0, gap - logging)
        cost.calls += entry.kind in {"EXECUTE", "QUERY"}
        part = entry.kind.lower() if entry.kind in {"PARSE", "BIND"} else "execute"
        setattr(cost, part, getattr(cost, part) + entry.own)
        previous = name
