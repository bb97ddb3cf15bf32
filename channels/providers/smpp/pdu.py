"""SMPP 3.4 on the wire, by smpplib's tables; optional parameters are read here.

https://smpp.org/SMPP_v3_4_Issue1_2.pdf
"""

import struct
from dataclasses import dataclass, field
from typing import Any

from smpplib import client, smpp
from smpplib.command_codes import get_command_code, get_command_name
from smpplib.consts import OPTIONAL_PARAMS as _OPTIONAL
from smpplib.exceptions import UnknownCommandError

HEADER_LENGTH = 16  # octets
MAX_LENGTH = 65_536  # octets; more is no PDU of SMPP 3.4 but a stream that slipped
RESPONSE_BIT = 0x8000_0000  # the bit of a command_id

_WITH_ID = {"deliver_sm_resp", "data_sm_resp"}  # a message_id that says nothing

SequenceGenerator: Any = client.SimpleSequenceGenerator


class MalformedError(Exception):
    """Octets that are no PDU we know; `sequence` is what an answer to them would carry."""

    def __init__(self, why: str, sequence: int, *, is_answer: bool) -> None:
        super().__init__(why)
        self.sequence = sequence
        self.is_answer = is_answer


@dataclass(frozen=True, slots=True)
class Pdu:
    name: str
    status: int
    sequence: int
    is_answer: bool
    fields: dict[str, Any] = field(default_factory=dict)  # of the mandatory part: int or bytes
    tlvs: dict[int, bytes] = field(default_factory=dict)


def encode(name: str, numbers: Any, /, **fields: Any) -> tuple[int, bytes]:
    """A request with the next sequence number, and that number."""
    made = smpp.make_pdu(name, client=numbers, **fields)
    return made.sequence, made.generate()


def encode_response(name: str, sequence: int, status: int = 0) -> bytes:
    body = b"\0" if name in _WITH_ID else b""
    command = get_command_code(name)
    return struct.pack(">4L", HEADER_LENGTH + len(body), command, status, sequence) + body


def decode(octets: bytes) -> Pdu:
    """Raises MalformedError."""
    _length, command, status, sequence = struct.unpack(">4L", octets[:HEADER_LENGTH])
    is_answer = bool(command & RESPONSE_BIT)
    tail: list[bytes] = []
    try:
        parsed = smpp.make_pdu(get_command_name(command), client=None, sequence=sequence)
        # smpplib drops the last octet of an optional string that came without its NUL, and breaks
        # on a parameter that is unusual for the command: some centres send both.
        parsed.parse_optional_params = tail.append
        parsed.parse(octets)
        _check(parsed)
        tlvs = _tlvs(b"".join(tail))
    except (UnknownCommandError, struct.error, ValueError, TypeError) as error:
        raise MalformedError(type(error).__name__, sequence, is_answer=is_answer) from None
    known = {name: getattr(parsed, name) for name in parsed.params_order if name not in _OPTIONAL}
    return Pdu(parsed.command, status, sequence, is_answer, known, tlvs)


def _check(parsed: Any) -> None:
    """smpplib takes what is cut short as if it were whole; raises ValueError."""
    if parsed.command == "deliver_sm":
        is_whole = len(parsed.short_message or b"") == parsed.sm_length
        if parsed.destination_addr is None or not is_whole:
            raise ValueError("a deliver_sm is cut short")


def _tlvs(octets: bytes) -> dict[int, bytes]:
    found, place = {}, 0
    while place < len(octets):
        tag, length = struct.unpack(">HH", octets[place : place + 4])
        value = octets[place + 4 : place + 4 + length]
        if len(value) < length:
            raise ValueError("an optional parameter is cut short")
        found[tag] = value
        place += 4 + length
    return found
