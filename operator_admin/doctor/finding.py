"""The result of one check."""

from dataclasses import dataclass

from catalogue.texts import StrOrPromise


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    ok: bool
    detail: str
    remedy: str = ""  # what to do if the check failed


def passed(name: StrOrPromise, detail: StrOrPromise) -> Finding:
    return finding(name, detail, "", ok=True)


def failed(name: StrOrPromise, detail: StrOrPromise, remedy: StrOrPromise) -> Finding:
    return finding(name, detail, remedy, ok=False)


def finding(name: StrOrPromise, detail: StrOrPromise, remedy: StrOrPromise, *, ok: bool) -> Finding:
    return Finding(str(name), ok, str(detail), "" if ok else str(remedy))
