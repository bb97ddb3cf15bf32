"""Checks a statement that a company uploads: by the program that it can run itself.

The program is a file of its own (`static/kvitok-verify.py`), so that a company needs nothing else;
here it is loaded as a module.
"""

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import ModuleType
from typing import Any

from accounts.models import Company
from billing.models import Seal
from config.environment.variables import ROOT

MAX_BYTES = 3 * 2**20
PROGRAM = ROOT / "static" / "kvitok-verify.py"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`problem` is the program's code of what is wrong; empty: proved."""

    problem: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)  # what a sentence about it names
    heads: int = 0
    last_day: str = ""
    last_head: str = ""
    rows: int = 0  # proved
    rest: int = 0  # rows after the last head


@cache
def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("kvitok_verify", PROGRAM)
    assert spec is not None and spec.loader is not None  # noqa: S101, PT018 - the file is there
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def check(company: Company, content: bytes, *, begins_after: datetime | None = None) -> Verdict:
    """Compares the file with the heads that are stored now.

    `begins_after` is of the last archived transfer: what is sealed up to its day is not compared.
    """
    verify = program()
    seals = Seal.objects.filter(company=company).order_by("day").defer("parts")
    heads = [
        verify.Head(f"{seal.day:%Y-%m-%d}", seal.head, seal.transfers, seal.balance)
        for seal in seals
    ]
    after = _day_with(begins_after, heads) if begins_after else None
    with NamedTemporaryFile(suffix=".csv") as file:
        file.write(content)
        file.flush()
        try:
            rows = verify.read_statement(Path(file.name))
            chain = verify.verify(rows, heads, after)
        except verify.VerifyError as error:
            return Verdict(problem=error.code, facts=error.facts)
    last_row = chain.last.row if chain.last else 1
    return Verdict(
        heads=len(heads),
        last_day=heads[-1].day,
        last_head=heads[-1].head,
        rows=chain.first_unproved - 2,
        rest=last_row + 1 - chain.first_unproved,
    )


def _day_with(moment: datetime, heads: Sequence[Any]) -> str | None:
    """The sealed day of a transfer."""
    day = f"{moment.astimezone(UTC):%Y-%m-%d}"
    return next((head.day for head in heads if head.day >= day), None)
