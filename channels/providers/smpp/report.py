"""A delivery receipt as it comes in a deliver_sm: in optional parameters, or as a line of text.

The text's form is Appendix B of SMPP 3.4, which calls it vendor specific: names in any case and
order, spaces where others have none, dates of ten or twelve digits in nobody knows whose time.
"""

import re
from collections.abc import Callable

from smpplib import consts

from channels.providers.base import Receipt, ReceiptState, Reply
from channels.providers.smpp.pdu import Pdu

_KIND, _RECEIPT, _INTERMEDIATE = 0x3C, 0x04, 0x20  # of esm_class
_HAS_HEADER = 0x40  # one part of a long message, and so no single word
_UCS2 = 0x08  # data_coding
_ENOUGH = 280  # octets: more than two of any words that we look for
_PHONE = re.compile(r"\+?[1-9][0-9]{6,14}")
_ID = consts.OPTIONAL_PARAMS["receipted_message_id"]
_STATE = consts.OPTIONAL_PARAMS["message_state"]
_ERROR = consts.OPTIONAL_PARAMS["network_error_code"]
_PAYLOAD = consts.OPTIONAL_PARAMS["message_payload"]

_WORDS = {
    1: "ENROUTE",
    2: "DELIVRD",
    3: "EXPIRED",
    4: "DELETED",
    5: "UNDELIV",
    6: "ACCEPTD",
    7: "UNKNOWN",
    8: "REJECTD",
}
# UNKNOWN is left out: nothing is known, and the deadline decides.
_STATES = {
    "ENROUTE": ReceiptState.SENT,
    "ACCEPTD": ReceiptState.SENT,
    "DELIVRD": ReceiptState.DELIVERED,
    "EXPIRED": ReceiptState.EXPIRED,
    "DELETED": ReceiptState.FAILED,
    "UNDELIV": ReceiptState.UNREACHABLE,
    "REJECTD": ReceiptState.FAILED,
}
_KEPT = (_ID, _STATE, _ERROR)
_FIELD = re.compile(
    r"\b(id|sub|dlvrd|submit ?date|done ?date|stat|err)\s*:\s*([^\s:]+)", re.IGNORECASE
)
_TEXT = re.compile(r"\btext\s*:", re.IGNORECASE)

Spelling = Callable[[str], str]


def _as_it_is(written: str) -> str:
    return written


def _hexadecimal(written: str) -> str:
    return _number(written, 16)


def _decimal(written: str) -> str:
    return _number(written, 10)


def _number(written: str, base: int) -> str:
    """What is no number after all stays as it is."""
    try:
        return str(int(written, base))
    except ValueError:
        return written


# How one id is written in the answer to submit_sm, and in a receipt.
SPELLINGS: dict[str, tuple[Spelling, Spelling]] = {
    "same": (_as_it_is, _as_it_is),
    "hex": (_hexadecimal, _hexadecimal),
    "decimal": (_decimal, _decimal),
    "hex-decimal": (_hexadecimal, _decimal),
    "decimal-hex": (_decimal, _hexadecimal),
}


def text(octets: bytes | None) -> str:
    return (octets or b"").rstrip(b"\x00").decode("latin-1").strip()


def receipt(deliver: Pdu, spelled: Spelling) -> Receipt | None:
    """None for what is no receipt, or says nothing: a message from a phone, an unknown state."""
    if (deliver.fields.get("esm_class") or 0) & _KIND not in {_RECEIPT, _INTERMEDIATE}:
        return None
    told = _told(deliver)
    state = int.from_bytes(deliver.tlvs.get(_STATE, b""))
    word = _WORDS.get(state, told.get("stat", "").upper())
    message_id = text(deliver.tlvs.get(_ID)) or told.get("id", "")
    if word not in _STATES or not message_id:
        return None
    return Receipt(
        provider_id=spelled(message_id),
        ref=None,
        state=_STATES[word],
        word=word,
        error_code=_error(deliver, told),
    )


def reply(deliver: Pdu) -> Reply | None:
    """What a person wrote back; None for what a machine says, and what is not plain text."""
    phone = text(deliver.fields.get("source_addr"))
    is_message = not (deliver.fields.get("esm_class") or 0) & (_KIND | _HAS_HEADER)
    if not is_message or not _PHONE.fullmatch(phone):
        return None
    octets = deliver.fields.get("short_message") or deliver.tlvs.get(_PAYLOAD) or b""
    coding = "utf-16-be" if deliver.fields.get("data_coding") == _UCS2 else "latin-1"
    return Reply("+" + phone.lstrip("+"), octets[:_ENOUGH].decode(coding, errors="replace"))


def raw(deliver: Pdu) -> bytes:
    """What it said, to be kept: without the beginning of the message, where a code may be."""
    told = " ".join(f"{name}:{value}" for name, value in _told(deliver).items())
    tlvs = (f"{tag:#06x}={deliver.tlvs[tag].hex()}" for tag in _KEPT if tag in deliver.tlvs)
    return " ".join([told, *tlvs]).encode()


def _told(deliver: Pdu) -> dict[str, str]:
    """The fields in front of `text:`; the first of a name is the one that counts."""
    octets = deliver.fields.get("short_message") or deliver.tlvs.get(_PAYLOAD)
    line = _TEXT.split(text(octets), maxsplit=1)[0]
    return {name.lower(): value for name, value in reversed(_FIELD.findall(line))}


def _error(deliver: Pdu, told: dict[str, str]) -> str | None:
    if told.get("err", "").strip("0"):
        return told["err"]
    network = deliver.tlvs.get(_ERROR, b"")  # one octet of network type, two of its code
    number = int.from_bytes(network[1:]) if len(network) == 3 else 0
    return str(number) if number else None
