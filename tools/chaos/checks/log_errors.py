"""Counts errors in the programs' logs by kind, and tells which kinds a kill explains."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

_LEVELS = {"error", "critical"}
_RAISED = re.compile(r"^([A-Za-z_][\w.]*): ?(.*)")
# Said while a store is away, while it comes back, or while a stopped worker keeps a row locked.
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
    """`program: event (cause)` → count: those that a kill explains, and all others."""
    explained: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for log in logs:
        for event, cause, is_explained in _errors_in(log):
            found = explained if is_explained else others
            found[f"{log.stem}: {event} ({cause})"] += 1
    return explained, others


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
    if event == "database_unavailable":  # answered with 503; the words are not logged
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
    raised = [found for line in exception.splitlines() if (found := _RAISED.match(line))]
    if not raised:
        return ""
    name, words = raised[-1][1].rpartition(".")[2], re.sub(r"\d+|/\S+|0x\w+", "", raised[-1][2])
    return f"{name}: {words[:50].strip()}"
