"""One message id in its spellings: centres answer `submit_sm` in one and send receipts in another.

SMPP 3.4 §5.2.23 leaves the id to the centre. Seen in the field: hexadecimal in the answer and
decimal in the receipt, the other way about, other case, and zeros in front of one of the two.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

_HEXADECIMAL = re.compile(r"[0-9a-f]{1,64}", re.ASCII)  # an id has 64 octets at most
_DECIMAL = re.compile(r"[0-9]{1,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class IdFormat:
    """How an account's ids are read."""

    answered: Callable[[str], str]  # that of an answer, as it is kept
    receipted: Callable[[str], tuple[str, ...]]  # what was kept of a receipt's id, likeliest first


def _normalise(written: str) -> str:
    """In lower case; a number without the zeros in front of it."""
    lower = written.lower()
    return (lower.lstrip("0") or "0") if _HEXADECIMAL.fullmatch(lower) else lower


def _candidates(written: str) -> tuple[str, ...]:
    plain = _normalise(written)
    found = [plain]
    if _DECIMAL.fullmatch(plain):
        found.append(f"{int(plain):x}")
    if _HEXADECIMAL.fullmatch(plain):
        found.append(str(int(plain, 16)))
    found.append(written)  # as ids were kept before spellings were recognised
    return tuple(dict.fromkeys(found))


def _unchanged(written: str) -> str:
    return written


def _number_reader(base: int) -> Callable[[str], str]:
    def read(written: str) -> str:
        """What is no number after all stays as it is."""
        try:
            return str(int(written, base))
        except ValueError:
            return written

    return read


def _single(read: Callable[[str], str]) -> Callable[[str], tuple[str, ...]]:
    return lambda written: (read(written),)


_hexadecimal, _decimal = _number_reader(16), _number_reader(10)
ID_FORMATS: dict[str, IdFormat] = {
    "auto": IdFormat(_normalise, _candidates),
    "same": IdFormat(_unchanged, _single(_unchanged)),
    "hex": IdFormat(_hexadecimal, _single(_hexadecimal)),
    "decimal": IdFormat(_decimal, _single(_decimal)),
    "hex-decimal": IdFormat(_hexadecimal, _single(_decimal)),
    "decimal-hex": IdFormat(_decimal, _single(_hexadecimal)),
}
