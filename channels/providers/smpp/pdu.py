"""Encodes and decodes SMPP 3.4 PDUs with smpplib's tables; parses optional parameters itself.

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
MAX_LENGTH = 65_536  # octets; a longer one means that the stream lost its framing
RESPONSE_BIT = 0x8000_0000  # the bit of a command_id

_WITH_ID = {"deliver_sm_resp", "data_sm_resp"}  # they carry an empty message_id

SequenceGenerator: Any = client.SimpleSequenceGenerator


class MalformedError(Exception):
    """Octets that are no known PDU; a response to them would carry `sequence`."""

    def __init__(self, reason: str, sequence: int, *, is_response: bool) -> None:
        super().__init__(reason)
        self.sequence = sequence
        self.is_response = is_response


@dataclass(frozen=True, slots=True)
class Pdu:
    name: str
    status: int
    sequence: int
    is_response: bool
    fields: dict[str, Any] = field(default_factory=dict)  # mandatory parameters: int or bytes
    tlvs: dict[int, bytes] = field(default_factory=dict)


def encode(name: str, numbers: Any, /, **fields: Any) -> tuple[int, bytes]:
    """Encodes a request; returns its sequence number and octets."""
    request = smpp.make_pdu(name, client=numbers, **fields)
    return request.sequence, request.generate()


def encode_response(name: str, sequence: int, status: int = 0) -> bytes:
    body = b"\0" if name in _WITH_ID else b""
    command = get_command_code(name)
    return struct.pack(">4L", HEADER_LENGTH + len(body), command, status, sequence) + body


def decode(octets: bytes) -> Pdu:
    """Raises MalformedError."""
    _length, command, status, sequence = struct.unpack(">4L", octets[:HEADER_LENGTH])
    is_response = bool(command & RESPONSE_BIT)
    tail: list[bytes] = []
    try:
        parsed = smpp.make_pdu(get_command_name(command), client=None, sequence=sequence)
        # smpplib drops the last octet of an optional string without its NUL, and fails on a
        # parameter that is unusual for the command: some centres send both.
        parsed.parse_optional_params = tail.append
        parsed.parse(octets)
        _check(parsed)
        tlvs = _tlvs(b"".join(tail))
    except (UnknownCommandError, struct.error, ValueError, TypeError) as error:
        raise MalformedError(type(error).__name__, sequence, is_response=is_response) from None
    fields = {name: getattr(parsed, name) for name in parsed.params_order if name not in _OPTIONAL}
    return Pdu(parsed.command, status, sequence, is_response, fields, tlvs)


def _check(parsed: Any) -> None:
    """Raises ValueError for a truncated deliver_sm, which smpplib accepts."""
    if parsed.command == "deliver_sm":
        is_complete = len(parsed.short_message or b"") == parsed.sm_length
        if parsed.destination_addr is None or not is_complete:
            raise ValueError("a deliver_sm is cut short")


def _tlvs(octets: bytes) -> dict[int, bytes]:
    tlvs, offset = {}, 0
    while offset < len(octets):
        tag, length = struct.unpack(">HH", octets[offset : offset + 4])
        value = octets[offset + 4 : offset + 4 + length]
        if len(value) < length:
            raise ValueError("an optional parameter is cut short")
        tlvs[tag] = value
        offset += 4 + length
    return tlvs
