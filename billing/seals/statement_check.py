"""Checks a statement that a company uploads, with the program that the company can run itself.

The program is a separate file (`static/kvitok-verify.py`), so that a company needs nothing else;
here it is loaded as a module.
"""

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import ModuleType
from typing import Any, NamedTuple

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from accounts.models import Company
from billing.models import Seal
from catalogue.texts import StrOrPromise

MAX_BYTES = 3 * 2**20
PROGRAM = settings.BASE_DIR / "static" / "kvitok-verify.py"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result; `problem` is the program's code of the fault, empty if the statement is
    proved.
    """

    problem: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)  # values for the sentence about it
    heads: int = 0
    last_day: str = ""
    last_head: str = ""
    rows: int = 0  # proved
    rest: int = 0  # rows after the last head
    skipped: int = 0  # rows of a partly archived day


@cache
def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("kvitok_verify", PROGRAM)
    assert spec is not None and spec.loader is not None  # noqa: S101, PT018 - the file is there
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def check(company: Company, content: bytes, *, begins_after: datetime | None = None) -> CheckResult:
    """Compares the file with the stored heads.

    `begins_after` is the time of the last archived transfer: transfers sealed up to its day are not
    compared.
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
            return CheckResult(problem=error.code, values=error.values)
    return CheckResult(
        heads=chain.heads,
        last_day=heads[-1].day,
        last_head=heads[-1].head,
        rows=chain.proved,
        rest=chain.read - chain.proved,
        skipped=chain.skipped,
    )


def _day_with(moment: datetime, heads: Sequence[Any]) -> str | None:
    """The sealed day of a transfer."""
    day = f"{moment.astimezone(UTC):%Y-%m-%d}"
    return next((head.day for head in heads if head.day >= day), None)


class Tone(Enum):
    FORGED = "danger"  # the file differs from the sealed one
    UNSUITABLE = "warning"  # another file has to be uploaded
    EARLY = "info"


class Sentence(NamedTuple):
    tone: Tone
    text: str


_FORGED: dict[str, StrOrPromise] = {
    "order": _("Row %(row)s is below a later one."),
    "balance": _("Row %(row)s: the balance is %(shown)s, but the rows above it give %(expected)s."),
    "chain": _("One of the rows %(first)s–%(last)s differs: they do not give the hash of %(day)s."),
    "missing": _("After row %(last)s rows of %(day)s are missing."),
    "row": _("Row %(row)s cannot be read."),
    "tokens": _("Row %(row)s: the file has %(shown)s tokens, the seal %(sealed)s."),
    "change": _("Row %(row)s: the file has a change of %(shown)s, the seal one of %(sealed)s."),
    "message": _("Row %(row)s: the message is not the sealed one."),
    "note": _("Row %(row)s: the note is not the sealed one."),
}
_UNSUITABLE: dict[str, StrOrPromise] = {
    "partial": _(
        "The file does not have all operations. Download the full statement and upload that."
    ),
    "begins_later": _(
        "The file does not begin with the first operation. Download the full statement and "
        "upload that."
    ),
    "ends_earlier": _(
        "The file ends before the operations of %(day)s, or lacks some of them. Download the full "
        "statement and upload that."
    ),
    "columns": _(
        "This is not a statement, or its column with sealed lines is gone. Upload the file as "
        "it was downloaded."
    ),
    "encoding": _("The file is not in UTF-8. Upload it as it was downloaded."),
}
_EARLY: dict[str, StrOrPromise] = {
    "no_heads_yet": _("There is nothing to compare with yet: a day is sealed when it is over.")
}
TEXTS = {Tone.FORGED: _FORGED, Tone.UNSUITABLE: _UNSUITABLE, Tone.EARLY: _EARLY}


def sentence(result: CheckResult) -> Sentence:
    tone = next(tone for tone, texts in TEXTS.items() if result.problem in texts)
    return Sentence(tone, str(TEXTS[tone][result.problem]) % result.values)
