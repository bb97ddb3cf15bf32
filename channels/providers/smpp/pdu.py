"""Encodes and decodes SMPP 3.4 PDUs with smpplib's tables; parses optional parameters itself.

https://smpp.org/SMPP_v3_4_Issue1_2.pdf
"""

import struct
from collections.abc import Set
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from smpplib import client, smpp
from smpplib.command_codes import get_command_code, get_command_name
from smpplib.consts import OPTIONAL_PARAMS as _OPTIONAL
from smpplib.exceptions import UnknownCommandError

HEADER_LENGTH = 16  # octets
MAX_LENGTH = 65_536  # octets; a longer one means that the stream lost its framing
RESPONSE_BIT = 0x8000_0000  # the bit of a command_id

DELIVERIES = {"deliver_sm", "data_sm"}  # commands that carry receipts
_WITH_ID = {"deliver_sm_resp", "data_sm_resp"}  # responses with an empty message_id

# Parameters without which a receipt is empty or means something else.
_OF_A_RECEIPT = frozenset(
    _OPTIONAL[name]
    for name in ("receipted_message_id", "message_state", "network_error_code", "message_payload")
)

SequenceGenerator: Any = client.SimpleSequenceGenerator


class MalformedError(Exception):
    """A PDU of an unknown command, or a request with an unreadable body.

    `sequence` is the number that a response to it would carry.
    """

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
    is_readable: bool = True  # False: a receipt whose body is broken


def encode(name: str, numbers: Any, /, **fields: Any) -> tuple[int, bytes]:
    """Encodes a request; returns its sequence number and octets."""
    request = smpp.make_pdu(name, client=numbers, **fields)
    return request.sequence, request.generate()


def encode_response(name: str, sequence: int, status: int = 0) -> bytes:
    body = b"\0" if name in _WITH_ID else b""
    command = get_command_code(name)
    return struct.pack(">4L", HEADER_LENGTH + len(body), command, status, sequence) + body


def decode(octets: bytes) -> Pdu:
    """Decodes a PDU; raises MalformedError.

    The status in a response's header is the outcome of the request, even with a faulty body.
    """
    _length, command, status, sequence = struct.unpack(">4L", octets[:HEADER_LENGTH])
    is_response = bool(command & RESPONSE_BIT)
    try:
        name = get_command_name(command)
    except UnknownCommandError as error:
        raise MalformedError(type(error).__name__, sequence, is_response=is_response) from None
    try:
        fields, tlvs = _body(name, octets)
    except (struct.error, ValueError, TypeError, UnknownCommandError) as error:
        # UnknownCommandError: of some commands, such as outbind, smpplib knows only the name.
        if not is_response and name not in DELIVERIES:
            raise MalformedError(type(error).__name__, sequence, is_response=False) from None
        return Pdu(name, status, sequence, is_response, is_readable=is_response)
    return Pdu(name, status, sequence, is_response, fields, tlvs)


def _body(name: str, octets: bytes) -> tuple[dict[str, Any], dict[int, bytes]]:
    tail: list[bytes] = []
    parsed = smpp.make_pdu(name, client=None, sequence=0)
    # smpplib drops the last octet of a string without its NUL, and fails on a parameter that is
    # unusual for the command: some centres send both.
    parsed.parse_optional_params = tail.append
    parsed._parse_string = partial(_read_string, parsed)  # noqa: SLF001 - it has no other hook
    parsed.sm_length = None  # a deliver_sm has to state it
    parsed.parse(octets)
    # Raises ValueError for a truncated receipt, which smpplib accepts.
    if parsed.command in DELIVERIES and parsed.data_coding is None:
        raise ValueError("a receipt is cut short")
    if parsed.command == "deliver_sm" and len(parsed.short_message or b"") != parsed.sm_length:
        raise ValueError("the text of a deliver_sm is cut short")
    fields = {name: getattr(parsed, name) for name in parsed.params_order if name not in _OPTIONAL}
    return fields, _tlvs(b"".join(tail), _OF_A_RECEIPT if name in DELIVERIES else frozenset())


def _read_string(parsed: Any, field: str, octets: bytes, start: int) -> tuple[bytes, int]:
    end = octets.find(b"\0", start)
    end = len(octets) if end < 0 else end
    setattr(parsed, field, octets[start:end])
    return octets, min(end + 1, len(octets))


def _tlvs(octets: bytes, needed: Set[int]) -> dict[int, bytes]:
    """The optional parameters by tag, without octets after the last whole one.

    Raises ValueError if a needed parameter is cut short.
    """
    tlvs = {}
    offset = 0
    while offset + 4 <= len(octets):
        tag, length = struct.unpack(">HH", octets[offset : offset + 4])
        value = octets[offset + 4 : offset + 4 + length]
        if len(value) < length:
            if tag in needed:
                raise ValueError("an optional parameter is cut short")
            break
        tlvs[tag] = value
        offset += 4 + length
    return tlvs
