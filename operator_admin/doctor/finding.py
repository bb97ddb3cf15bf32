"""The result of one check."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    ok: bool
    detail: str
    cure: str = ""  # what to do if the check failed

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def passed(name: str, detail: str) -> Finding:
    return Finding(name, True, detail)


def failed(name: str, detail: str, cure: str) -> Finding:
    return Finding(name, False, detail, cure)


def verdict(name: str, detail: str, cure: str, *, ok: bool) -> Finding:
    return Finding(name, ok, detail, "" if ok else cure)
