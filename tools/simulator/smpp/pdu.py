"""SMPP 3.4 PDUs as the message centre reads and writes them, and the text of a submit_sm."""

import struct
from collections import OrderedDict
from dataclasses import dataclass, field

HEADER = struct.Struct(">4L")
MAX_LENGTH = 70_000
MAX_TEXT_LENGTH = 70
A_RECEIPT = 0x04  # esm_class
UCS2 = 0x08  # data_coding

GENERIC_NACK = 0x8000_0000
BIND_RECEIVER = 0x01
BIND_TRANSMITTER = 0x02
BIND_TRANSCEIVER = 0x09
QUERY_SM = 0x03
SUBMIT_SM = 0x04
DELIVER_SM = 0x05
UNBIND = 0x06
ENQUIRE_LINK = 0x15
RESPONSE = 0x8000_0000

MESSAGE_PAYLOAD = 0x0424
RECEIPTED_MESSAGE_ID = 0x001E
MESSAGE_STATE = 0x0427
SAR_REFERENCE = 0x020C
SAR_TOTAL = 0x020E
SAR_NUMBER = 0x020F


class BadPduError(Exception):
    """The octets of a body do not hold what its command has."""


@dataclass(slots=True)
class Head:
    command: int
    status: int
    sequence: int

    @property
    def is_response(self) -> bool:
        return bool(self.command & RESPONSE)


def write(command: int, status: int, sequence: int, body: bytes = b"") -> bytes:
    return HEADER.pack(HEADER.size + len(body), command, status, sequence) + body


def cstring(text: str) -> bytes:
    return text.encode("latin-1") + b"\0"


def tlv(tag: int, value: bytes) -> bytes:
    return struct.pack(">HH", tag, len(value)) + value


class Body:
    """Read from the front, field by field."""

    def __init__(self, octets: bytes) -> None:
        self._octets = octets
        self._place = 0

    def text(self, longest: int) -> str:
        """A C-octet string of at most `longest` octets, its NUL among them."""
        end = self._octets.find(b"\0", self._place, self._place + longest)
        if end < 0:
            raise BadPduError
        octets = self._octets[self._place : end]
        self._place = end + 1
        return octets.decode("latin-1")

    def number(self) -> int:
        return self.octets(1)[0]

    def octets(self, count: int) -> bytes:
        octets = self._octets[self._place : self._place + count]
        if len(octets) < count:
            raise BadPduError
        self._place += count
        return octets

    def tlvs(self) -> dict[int, bytes]:
        tlvs = {}
        while self._place < len(self._octets):
            tag, length = struct.unpack(">HH", self.octets(4))
            tlvs[tag] = self.octets(length)
        return tlvs


@dataclass(slots=True)
class Bind:
    system_id: str
    password: str

    @classmethod
    def read(cls, octets: bytes) -> "Bind":
        body = Body(octets)
        bind = cls(body.text(16), body.text(9))
        body.text(13)  # system_type
        body.octets(3)  # interface_version, addr_ton, addr_npi
        body.text(41)  # address_range
        return bind


@dataclass(slots=True)
class Submit:
    source: str
    dest_ton: int
    dest_npi: int
    dest: str
    esm_class: int
    validity: str
    registered: int
    coding: int
    octets: bytes
    tlvs: dict[int, bytes] = field(default_factory=dict)

    @classmethod
    def read(cls, octets: bytes) -> "Submit":
        body = Body(octets)
        body.text(6)  # service_type
        body.octets(2)  # source_addr_ton, source_addr_npi
        source = body.text(21)
        ton, npi, dest = body.number(), body.number(), body.text(21)
        esm_class, _protocol, _priority = body.octets(3)
        body.text(17)  # schedule_delivery_time
        validity = body.text(17)
        registered, _replace, coding, _default = body.octets(4)
        message = body.octets(body.number())
        return cls(
            source, ton, npi, dest, esm_class, validity, registered, coding, message, body.tlvs()
        )


@dataclass(slots=True)
class Query:
    message_id: str
    source: str

    @classmethod
    def read(cls, octets: bytes) -> "Query":
        body = Body(octets)
        message_id = body.text(65)
        body.octets(2)  # source_addr_ton, source_addr_npi
        return cls(message_id, body.text(21))


def receipt(source: str, dest: str, line: str, tlvs: bytes) -> bytes:
    """The body of a deliver_sm that is a delivery receipt."""
    return _deliver(source, dest, A_RECEIPT, 0, line.encode("latin-1")) + tlvs


def incoming(source: str, dest: str, text: str) -> bytes:
    """The body of a deliver_sm that is a message from a phone."""
    return _deliver(source, dest, 0, UCS2, text[:MAX_TEXT_LENGTH].encode("utf-16-be"))


def _deliver(source: str, dest: str, esm_class: int, coding: int, octets: bytes) -> bytes:
    return b"".join(
        [
            cstring(""),
            bytes([1, 1]) + cstring(source),
            bytes([5, 0]) + cstring(dest),
            bytes([esm_class, 0, 0]),
            cstring("") * 2,  # schedule_delivery_time, validity_period
            bytes([0, 0, coding, 0, len(octets)]) + octets,
        ]
    )


# 3GPP TS 23.038: a column for each high digit, sixteen rows for the low one.
COLUMNS = (
    *("@£$¥èéùìòÇ\nØø\rÅå", "Δ_ΦΓΛΩΠΨΣΘΞ\x1bÆæßÉ", " !\"#¤%&'()*+,-./", "0123456789:;<=>?"),
    *("¡ABCDEFGHIJKLMNO", "PQRSTUVWXYZÄÖÑÜ§", "¿abcdefghijklmno", "pqrstuvwxyzäöñüà"),
)
SECOND = dict(zip(b"\x0a\x14\x28\x29\x2f\x3c\x3d\x3e\x40\x65", "\f^{}\\[~]|€", strict=True))
ESCAPE = 0x1B
# Values of data_coding.
GSM = 0
ASCII = 1
LATIN = 3
HAS_HEADER = 0x40  # of esm_class
INCOMPLETE = 1000  # messages with parts missing that are remembered


class UnreadableError(Exception):
    """`status` is what the centre says to it."""

    def __init__(self, status: int) -> None:
        super().__init__(hex(status))
        self.status = status


INVALID_LENGTH = 0x01
INVALID_CLASS = 0x43
SUBMIT_FAILED = 0x45
INVALID_OPTIONAL = 0xC4


@dataclass(slots=True)
class Segment:
    text: str
    reference: int = 0
    total: int = 1
    number: int = 1


def read_text(submit: Submit) -> Segment:
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
    """The characters that six octets of header take away: seven septets, or six octets."""
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
    chars: list[str] = []
    following = iter(octets)
    for octet in following:
        if octet == ESCAPE:
            chars.append(SECOND[next(following, -1)])
        else:
            chars.append(COLUMNS[octet >> 4][octet & 15])
    return "".join(chars)


class Parts:
    """The parts of long messages, in any order, until all of them have arrived."""

    def __init__(self) -> None:
        self._known = OrderedDict[tuple[str, str, int, int], dict[int, tuple[str, str]]]()

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
        return "".join(text for text, _ in ordered), [part for _, part in ordered]
