"""The result of one check."""

from dataclasses import asdict, dataclass
from typing import Any

from catalogue.texts import StrOrPromise


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    ok: bool
    detail: str
    cure: str = ""  # what to do if the check failed

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def passed(name: StrOrPromise, detail: StrOrPromise) -> Finding:
    return verdict(name, detail, "", ok=True)


def failed(name: StrOrPromise, detail: StrOrPromise, cure: StrOrPromise) -> Finding:
    return verdict(name, detail, cure, ok=False)


def verdict(name: StrOrPromise, detail: StrOrPromise, cure: StrOrPromise, *, ok: bool) -> Finding:
    return Finding(str(name), ok, str(detail), "" if ok else str(cure))
