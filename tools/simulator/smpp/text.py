"""Decodes the text of a submit_sm, and joins the parts of long messages."""

from collections import OrderedDict
from dataclasses import dataclass

from tools.simulator.smpp.pdu import MESSAGE_PAYLOAD, SAR_NUMBER, SAR_REFERENCE, SAR_TOTAL, Submit

# 3GPP TS 23.038: a column for each high digit, sixteen rows for the low one.
COLUMNS = (
    "@£$¥èéùìòÇ\nØø\rÅå",
    "Δ_ΦΓΛΩΠΨΣΘΞ\x1bÆæßÉ",
    " !\"#¤%&'()*+,-./",
    "0123456789:;<=>?",
    "¡ABCDEFGHIJKLMNO",
    "PQRSTUVWXYZÄÖÑÜ§",
    "¿abcdefghijklmno",
    "pqrstuvwxyzäöñüà",
)
SECOND = {
    0x0A: "\f",
    0x14: "^",
    0x28: "{",
    0x29: "}",
    0x2F: "\\",
    0x3C: "[",
    0x3D: "~",
    0x3E: "]",
    0x40: "|",
    0x65: "€",
}
ESCAPE = 0x1B
GSM, ASCII, LATIN, UCS2 = 0, 1, 3, 8  # data_coding
HAS_HEADER = 0x40  # of esm_class
INCOMPLETE = 1000  # messages with parts missing that are remembered


class UnreadableError(Exception):
    """`status` is what the centre says to it."""

    def __init__(self, status: int) -> None:
        super().__init__(hex(status))
        self.status = status


INVALID_LENGTH, INVALID_CLASS, SUBMIT_FAILED, INVALID_OPTIONAL = 0x01, 0x43, 0x45, 0xC4


@dataclass(slots=True)
class Segment:
    text: str
    reference: int = 0
    total: int = 1
    number: int = 1


def read(submit: Submit) -> Segment:
    """Raises UnreadableError."""
    if MESSAGE_PAYLOAD in submit.tlvs:
        if submit.octets:
            raise UnreadableError(INVALID_LENGTH)
        return Segment(_text(submit.tlvs[MESSAGE_PAYLOAD], submit.coding))
    longest = _longest(submit.coding)
    if SAR_REFERENCE in submit.tlvs:
        return _segment(submit, longest)
    if not submit.esm_class & HAS_HEADER:
        if len(submit.octets) > longest:
            raise UnreadableError(INVALID_LENGTH)
        return Segment(_text(submit.octets, submit.coding))
    return _part(submit, longest)


def _part(submit: Submit, longest: int) -> Segment:
    length = submit.octets[0] if submit.octets else 0
    header, body = submit.octets[1 : 1 + length], submit.octets[1 + length :]
    if length != 5 or header[:2] != b"\x00\x03" or not 1 <= header[4] <= header[3]:
        raise UnreadableError(INVALID_CLASS)
    if len(body) > longest - _header(submit.coding):
        raise UnreadableError(INVALID_LENGTH)
    return Segment(_text(body, submit.coding), header[2], header[3], header[4])


def _segment(submit: Submit, longest: int) -> Segment:
    """A part whose header the centre makes itself, of sar_… parameters: SMPP 3.4 §5.3.2.22 ff."""
    reference, total, number = (
        int.from_bytes(submit.tlvs.get(tag, b"")) for tag in (SAR_REFERENCE, SAR_TOTAL, SAR_NUMBER)
    )
    if not 1 <= number <= total:
        raise UnreadableError(INVALID_OPTIONAL)
    if len(submit.octets) > longest - _header(submit.coding):
        raise UnreadableError(INVALID_LENGTH)
    return Segment(_text(submit.octets, submit.coding), reference, total, number)


def _longest(coding: int) -> int:
    """Octets of one SMS: septets come one to an octet, Latin-1 travels as 8-bit data."""
    return 160 if coding in {GSM, ASCII} else 140


def _header(coding: int) -> int:
    """What six octets of header take away: seven septets, or themselves."""
    return 7 if coding in {GSM, ASCII} else 6


def _text(octets: bytes, coding: int) -> str:
    try:
        if coding == UCS2:
            return octets.decode("utf-16-be")
        if coding == LATIN:
            return octets.decode("latin-1")
        if coding == ASCII:
            return octets.decode("ascii")
        if coding == GSM:
            return _septets(octets)
    except (UnicodeDecodeError, IndexError, KeyError):
        pass
    raise UnreadableError(SUBMIT_FAILED)


def _septets(octets: bytes) -> str:
    shown: list[str] = []
    following = iter(octets)
    for octet in following:
        if octet == ESCAPE:
            shown.append(SECOND[next(following, -1)])
        else:
            shown.append(COLUMNS[octet >> 4][octet & 15])
    return "".join(shown)


class Parts:
    """Parts of long messages until the last of them has come, in whatever order."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str, int, int], dict[int, tuple[str, str]]]
        self._known = OrderedDict()

    def add(self, submit: Submit, piece: Segment, message_id: str) -> tuple[str, list[str]] | None:
        """The whole text, and the ids of its parts, once it is complete."""
        key = (submit.source, submit.dest, piece.reference, piece.total)
        parts = self._known.setdefault(key, {})
        parts[piece.number] = (piece.text, message_id)
        if len(parts) < piece.total:
            while len(self._known) > INCOMPLETE:
                self._known.popitem(last=False)
            return None
        del self._known[key]
        ordered = [parts[number] for number in sorted(parts)]
        return "".join(text for text, _ in ordered), [one for _, one in ordered]
