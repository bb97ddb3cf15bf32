"""What a check of a statement has found, in sentences: by the codes of `kvitok-verify.py`."""

from enum import Enum
from typing import NamedTuple

from django.utils.translation import gettext_lazy as _

from billing.seals.statement_check import Verdict
from config.texts import StrOrPromise


class Tone(Enum):
    FORGED = "danger"  # the file is not what was sealed
    UNSUITABLE = "warning"  # another file has to be uploaded
    EARLY = "info"


class Sentence(NamedTuple):
    tone: Tone
    text: str


_FORGED: dict[str, StrOrPromise] = {
    "order": _("Row %(row)s stands below a later one."),
    "balance": _("Row %(row)s: the balance is %(shown)s, by the rows above it %(expected)s."),
    "chain": _("One of the rows %(first)s–%(last)s differs: they do not give the hash of %(day)s."),
    "missing": _("After row %(last)s rows of %(day)s are missing."),
    "row": _("Row %(row)s cannot be read."),
    "tokens": _("Row %(row)s: the file has %(shown)s tokens, the seal %(sealed)s."),
    "change": _("Row %(row)s: the file has a change of %(shown)s, the seal one of %(sealed)s."),
    "message": _("Row %(row)s: the message is not the sealed one."),
    "note": _("Row %(row)s: the note is not the sealed one."),
}
_UNSUITABLE: dict[str, StrOrPromise] = {
    "partial": _("The file has not all operations. Download the full statement and upload that."),
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
    "no_heads_yet": _("There is nothing to compare with yet: a day is sealed when it is over."),
}
# Of files and options that only the program on a person's own computer is given.
OF_THE_PROGRAM_ALONE = {"heads", "no_opening"}
TEXTS = {Tone.FORGED: _FORGED, Tone.UNSUITABLE: _UNSUITABLE, Tone.EARLY: _EARLY}


def sentence(verdict: Verdict) -> Sentence:
    tone = next(tone for tone, texts in TEXTS.items() if verdict.problem in texts)
    return Sentence(tone, str(TEXTS[tone][verdict.problem]) % verdict.facts)
