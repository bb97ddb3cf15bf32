"""SMPP 3.4 PDUs, as the message centre reads and writes them."""

import struct
from dataclasses import dataclass, field

HEADER = struct.Struct(">4L")
LONGEST, LONGEST_TEXT = 70_000, 70
A_RECEIPT, UCS2 = 0x04, 0x08  # esm_class; data_coding

GENERIC_NACK = 0x8000_0000
BIND_RECEIVER, BIND_TRANSMITTER, BIND_TRANSCEIVER = 0x01, 0x02, 0x09
QUERY_SM, SUBMIT_SM, DELIVER_SM = 0x03, 0x04, 0x05
UNBIND, ENQUIRE_LINK = 0x06, 0x15
RESPONSE = 0x8000_0000

MESSAGE_PAYLOAD = 0x0424
RECEIPTED_MESSAGE_ID = 0x001E
MESSAGE_STATE = 0x0427
SAR_REFERENCE, SAR_TOTAL, SAR_NUMBER = 0x020C, 0x020E, 0x020F


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
        """A C-octet string of at most so many octets, its NUL among them."""
        end = self._octets.find(b"\0", self._place, self._place + longest)
        if end < 0:
            raise BadPduError
        found = self._octets[self._place : end]
        self._place = end + 1
        return found.decode("latin-1")

    def number(self) -> int:
        return self.octets(1)[0]

    def octets(self, count: int) -> bytes:
        found = self._octets[self._place : self._place + count]
        if len(found) < count:
            raise BadPduError
        self._place += count
        return found

    def tlvs(self) -> dict[int, bytes]:
        found = {}
        while self._place < len(self._octets):
            tag, length = struct.unpack(">HH", self.octets(4))
            found[tag] = self.octets(length)
        return found


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
    return _deliver(source, dest, 0, UCS2, text[:LONGEST_TEXT].encode("utf-16-be"))


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
