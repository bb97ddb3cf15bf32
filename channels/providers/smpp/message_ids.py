"""Matches message ids: centres write them differently in submit_sm_resp and in receipts.

SMPP 3.4 §5.2.23 leaves the id to the centre. Seen in the field: hexadecimal in the response and
decimal in the receipt, the reverse, another case, and leading zeros in one of the two.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

_HEXADECIMAL = re.compile(r"[0-9a-f]{1,64}", re.ASCII)  # an id has 64 octets at most
_DECIMAL = re.compile(r"[0-9]{1,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class IdFormat:
    """How an account's ids are normalised."""

    from_response: Callable[[str], str]  # the id to store
    from_receipt: Callable[[str], tuple[str, ...]]  # the stored ids it may mean, likeliest first


def _normalise(written: str) -> str:
    """Lower case; numbers without leading zeros."""
    lower = written.lower()
    return (lower.lstrip("0") or "0") if _HEXADECIMAL.fullmatch(lower) else lower


def _candidates(written: str) -> tuple[str, ...]:
    plain = _normalise(written)
    candidates = [plain]
    if _DECIMAL.fullmatch(plain):
        candidates.append(f"{int(plain):x}")
    if _HEXADECIMAL.fullmatch(plain):
        candidates.append(str(int(plain, 16)))
    candidates.append(written)  # as ids were stored before formats were recognised
    return tuple(dict.fromkeys(candidates))


def _unchanged(written: str) -> str:
    return written


def _number_reader(base: int) -> Callable[[str], str]:
    def read(written: str) -> str:
        """Returns an id that is no number unchanged."""
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
