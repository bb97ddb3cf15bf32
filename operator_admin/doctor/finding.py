"""The result of one check."""

from dataclasses import dataclass

from catalogue.texts import StrOrPromise


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    ok: bool
    detail: str
    cure: str = ""  # what to do if the check failed


def passed(name: StrOrPromise, detail: StrOrPromise) -> Finding:
    return verdict(name, detail, "", ok=True)


def failed(name: StrOrPromise, detail: StrOrPromise, cure: StrOrPromise) -> Finding:
    return verdict(name, detail, cure, ok=False)


def verdict(name: StrOrPromise, detail: StrOrPromise, cure: StrOrPromise, *, ok: bool) -> Finding:
    return Finding(str(name), ok, str(detail), "" if ok else str(cure))
