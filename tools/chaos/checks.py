"""Checks at the end of a run, against our database, the vendors and the clients."""

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

from django.db import connection
from django.db.backends.utils import CursorWrapper

from catalogue.ids import parse_id
from otp import codes
from tools.queries import Query, queries

CHECKS = tuple(queries(__file__, "invariants.sql").values())
PROVABLE = "could have been proved"
UNCHARGED_SHARE = 0.001  # of messages whose delivery could have been proved
_SQL = queries(__file__)


@dataclass
class Finding:
    """One invariant and its violations."""

    check: str
    promise: str
    subjects: list[str] = field(default_factory=list)

    @property
    def is_kept(self) -> bool:
        return not self.subjects


def check_invariants(simulator_log: Path, journal: Path) -> Iterator[Finding]:
    """Every check against phones' and companies' records, and the service's own reconciliation."""
    from channels import full_reconciliation  # noqa: PLC0415 - models need Django set up

    load_records(simulator_log, journal)
    for check in CHECKS:
        yield Finding(check.name, check.about, violations(check))
    breaches = [f"{row.check}: {row.subject}" for row in full_reconciliation.breaches()]
    yield Finding("reconcile", "the service's own reconciliation finds nothing", breaches)
    yield check_uncharged(uncharged())


def broken_checks(simulator_log: Path, journal: Path) -> list[str]:
    """The broken checks, one per line."""
    return [
        f"{finding.check}: {', '.join(finding.subjects[:5])}"
        for finding in check_invariants(simulator_log, journal)
        if not finding.is_kept
    ]


def violations(check: Query) -> list[str]:
    return sorted({subject for (subject,) in select(check.text)})


def uncharged() -> dict[str, str]:
    """Message → reason why it was not charged."""
    return dict(select(_SQL["uncharged"].text))


def provable_timelines(free: dict[str, str]) -> list[str]:
    """Timelines of uncharged deliveries that could have been proved."""
    return [
        f"{message} {select(_SQL['timeline'].text, message)[0][0]}"
        for message, why in free.items()
        if why == PROVABLE
    ]


def check_uncharged(free: dict[str, str]) -> Finding:
    promise = f"of deliveries that can be proved at most {UNCHARGED_SHARE:.1%} are free"
    provable = provable_timelines(free)
    ((messages,),) = select("SELECT count(*) FROM channels_message")
    is_kept = len(provable) <= UNCHARGED_SHARE * messages
    return Finding("uncharged", promise, [] if is_kept else provable)


def select(query: str, *params: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, params or None)
        return list(cursor.fetchall())


_LEVELS = {"error", "critical"}
_RAISED = re.compile(r"^([A-Za-z_][\w.]*): ?(.*)")
# Errors while a store is down or restarts, or while a stopped worker keeps a row locked.
_EXPECTED_AFTER_KILL = re.compile(
    r"terminating connection|server closed the connection|the database system is "
    r"|connection (to server .*failed|failed|is lost|is closed|is bad|refused)"
    r"|(consuming input|sending query) failed|couldn't get a connection after"
    r"|canceling statement due to lock timeout"
    r"|Error \d+ (connecting to|while (reading|writing))|Connection (refused|reset|closed)"
    r"|Broken pipe|Timeout (connecting to|reading from)|loading the dataset",
    re.IGNORECASE,
)
_STORE_UNAVAILABLE = {"OperationalError", "InterfaceError", "PoolTimeout"}


def logged_errors(logs: Iterable[Path]) -> tuple[Counter[str], Counter[str]]:
    """`program: event (cause)` → count, for errors explained by a kill and for others."""
    explained: Counter[str] = Counter()
    unexplained: Counter[str] = Counter()
    for log in logs:
        for event, cause, is_explained in _errors_in(log):
            group = explained if is_explained else unexplained
            group[f"{log.stem}: {event} ({cause})"] += 1
    return explained, unexplained


def _errors_in(log: Path) -> Iterator[tuple[str, str, bool]]:
    raw: list[str] = []
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        if isinstance(entry, dict):
            yield from _traceback(raw)
            raw = []
            if entry.get("level") in _LEVELS:
                yield _structured(entry)
        else:
            raw.append(line)
    yield from _traceback(raw)


def _structured(entry: dict[str, object]) -> tuple[str, str, bool]:
    event, exception = str(entry.get("event")), str(entry.get("exception", ""))
    name = str(entry.get("error", ""))
    is_explained = bool(_EXPECTED_AFTER_KILL.search(exception or event))
    if event == "database_unavailable":  # answered with 503; the text is not logged
        is_explained = name in _STORE_UNAVAILABLE
    if entry.get("logger") == "django.request":  # Django's own line on such an answer
        is_explained = event.startswith("Service Unavailable:")
    return _short(event), _cause(exception) or name or "no exception", is_explained


def _traceback(lines: list[str]) -> Iterator[tuple[str, str, bool]]:
    """Raw text between structured lines; only tracebacks count."""
    text = "\n".join(lines)
    for part in text.split("Traceback (most recent call last):")[1:]:
        yield "traceback", _cause(part) or "no exception", bool(_EXPECTED_AFTER_KILL.search(part))


def _short(event: str) -> str:
    """Drops the parts that vary between occurrences."""
    return re.sub(r"\[.*?\]|\d+|/\S+|: Error.*", "", event.partition("\n")[0])[:60].strip()


def _cause(exception: str) -> str:
    raised = [match for line in exception.splitlines() if (match := _RAISED.match(line))]
    if not raised:
        return ""
    name, text = raised[-1][1].rpartition(".")[2], re.sub(r"\d+|/\S+|0x\w+", "", raised[-1][2])
    return f"{name}: {text[:50].strip()}"


TABLES = ("phone_message", "client_order", "client_call", "client_entry")
_RECORDS = {query.name: query.text for query in queries(__file__, "external_records.sql").values()}


def load_records(simulator_log: Path, journal: Path) -> None:
    """Fills temporary tables, which exist only on Django's current connection."""
    phones = [_phone_message(*row) for row in rows(simulator_log, _RECORDS["phones"])]
    calls = [
        (*row[:3], parse_id("msg", row[3]), row[4], bool(row[5]), *row[6:])
        for row in rows(journal, _RECORDS["calls"])
    ]
    entries = [
        (*row[:5], bool(row[5]), *row[6:8], parse_id("otp", row[8]), *row[9:])
        for row in rows(journal, _RECORDS["entries"])
    ]
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")  # the service's own is too short for this
        create_tables(cursor)
        for table, records in zip(
            TABLES, (phones, rows(journal, _RECORDS["orders"]), calls, entries), strict=True
        ):
            fill(cursor, table, records)
        match(cursor)


def create_tables(cursor: CursorWrapper) -> None:
    for statement in filter(str.strip, (_RECORDS["schema"] + _RECORDS["indexes"]).split(";")):
        cursor.execute(statement)


def fill(cursor: CursorWrapper, table: str, rows: Iterable[Sequence[object]]) -> None:
    with cursor.copy(f"COPY {table} FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)


def match(cursor: CursorWrapper) -> None:
    _analyze(cursor)  # without statistics PostgreSQL would choose nested loops
    for way in ("by reference", "by name", "by centre id", "by link", "unnamed"):
        cursor.execute(_RECORDS[way])
    fill(cursor, "unnamed_code", _with_codes(cursor.fetchall()))
    cursor.execute(_RECORDS["by code"])
    _analyze(cursor)


def _analyze(cursor: CursorWrapper) -> None:
    for table in TABLES:
        cursor.execute(f"ANALYZE {table}")


def _with_codes(attempts: list[tuple[Any, ...]]) -> list[tuple[object, ...]]:
    """Adds to each attempt its code and its number among attempts with that code and phone."""
    rows: list[tuple[object, ...]] = []
    occurrences = Counter[tuple[str, str]]()
    for attempt_id, message_id, phone, verification_id, key_id, length in attempts:
        code = codes.derive(verification_id, key_id=key_id, length=length)
        occurrences[phone, code] += 1
        rows.append((attempt_id, message_id, phone, code, occurrences[phone, code]))
    return rows


def rows(file: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as store:
        return store.execute(query).fetchall()


def _phone_message(number: int, *row: Any) -> tuple[object, ...]:
    provider, provider_id, ref, phone, links, code, state, extra, pending = row
    extras = json.loads(extra)
    reference = ref or parse_qs(urlsplit(extras.get("callback") or "").query).get("ref", [None])[0]
    identity = (number, provider, provider_id, UUID(reference) if reference else None, f"+{phone}")
    content = (json.loads(links), code, state, extras.get("faults", []), pending == "")
    return (*identity, *content, None, None)
