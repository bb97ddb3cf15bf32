"""A delivery receipt as it comes in a deliver_sm or data_sm: in optional parameters, or as a line.

The line's form is Appendix B of SMPP 3.4, which calls it vendor specific: names in any case and
order, spaces where others have none, dates of ten or twelve digits in nobody knows whose time.
Some centres write it in UCS-2, some leave esm_class at 0, some spell the words out.
"""

import re

from smpplib import consts

from channels.providers.base import Receipt, ReceiptState, Reply
from channels.providers.smpp.message_ids import IdFormat
from channels.providers.smpp.pdu import Pdu

_KIND, _RECEIPT, _INTERMEDIATE = 0x3C, 0x04, 0x20  # of esm_class
_INTERNATIONAL = 1  # type of number
_UDH_INDICATOR = 0x40  # one part of a long message, and so no single word
_UCS2 = 0x08  # data_coding
_MAX_REPLY_OCTETS = 280  # octets: more than two of any words that we look for
_PHONE = re.compile(r"\+?[1-9][0-9]{6,14}")
_ID = consts.OPTIONAL_PARAMS["receipted_message_id"]
_STATE = consts.OPTIONAL_PARAMS["message_state"]
_ERROR = consts.OPTIONAL_PARAMS["network_error_code"]
_PAYLOAD = consts.OPTIONAL_PARAMS["message_payload"]

_STATE_WORDS = {
    1: "ENROUTE",
    2: "DELIVRD",
    3: "EXPIRED",
    4: "DELETED",
    5: "UNDELIV",
    6: "ACCEPTD",
    7: "UNKNOWN",
    8: "REJECTD",
}
_WORD_VARIANTS = {
    "DELIVERED": "DELIVRD",
    "DELIVERD": "DELIVRD",
    "UNDELIVERED": "UNDELIV",
    "UNDELIVERABLE": "UNDELIV",
    "UNDELIVRD": "UNDELIV",
    "ACCEPTED": "ACCEPTD",
    "REJECTED": "REJECTD",
    "EN_ROUTE": "ENROUTE",
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
_STORED_TLVS = (_ID, _STATE, _ERROR)
_FIELD = re.compile(
    r"\b(id|sub|dlvrd|submit ?date|done ?date|stat|err)\s*:\s*([^\s:]+)", re.IGNORECASE
)
_TEXT = re.compile(r"\btext\s*:", re.IGNORECASE)
# With an id and a state, what a person would hardly write: a receipt without its esm_class.
_OF_A_RECEIPT = {"sub", "dlvrd", "submit date", "submitdate", "done date", "donedate"}


def text(octets: bytes | None) -> str:
    return (octets or b"").rstrip(b"\x00").decode("latin-1").strip()


def receipt(deliver: Pdu, spelling: IdFormat) -> Receipt | None:
    """None for what is no receipt, or says nothing: a message from a phone, an unknown state."""
    told = _line_fields(deliver)
    if not _is_receipt(deliver, told):
        return None
    word = _state_word(deliver, told)
    message_id = text(deliver.tlvs.get(_ID)) or told.get("id", "")
    if word not in _STATES or not message_id:
        return None
    first, *others = spelling.receipted(message_id)
    may_be_written = _could_be_from_phone(deliver)
    return Receipt(
        provider_id=first,
        ref=None,
        state=_STATES[word],
        word=word,
        error_code=_error(deliver, told),
        alternatives=tuple(others),
        phone=_address(deliver, "source") if may_be_written else _phone(deliver),
        needs_phone=may_be_written,
    )


def _is_receipt(deliver: Pdu, told: dict[str, str]) -> bool:
    """By its esm_class; where that is 0, by optional parameters that no phone can send, or by the
    whole form of a receipt's line.
    """
    if not _could_be_from_phone(deliver):
        kind = (deliver.fields.get("esm_class") or 0) & _KIND
        return kind in {0, _RECEIPT, _INTERMEDIATE}
    return {"id", "stat"} <= told.keys() and not _OF_A_RECEIPT.isdisjoint(told)


def _could_be_from_phone(deliver: Pdu) -> bool:
    """Whether a person's message may look the same, so that it speaks of their phone alone."""
    kind = (deliver.fields.get("esm_class") or 0) & _KIND
    return not kind and not (_ID in deliver.tlvs and _STATE in deliver.tlvs)


def _state_word(deliver: Pdu, told: dict[str, str]) -> str:
    state = int.from_bytes(deliver.tlvs.get(_STATE, b""))
    word = told.get("stat", "").upper()
    return _STATE_WORDS.get(state, _WORD_VARIANTS.get(word, word))


def _phone(deliver: Pdu) -> str:
    """Who a receipt is about: some centres put the addresses as they were in the message."""
    return _address(deliver, "source") or _address(deliver, "dest")


def _address(deliver: Pdu, end: str) -> str:
    """A phone, with a plus where the centre says that it is international; empty for a name."""
    field = "source_addr" if end == "source" else "destination_addr"
    address = text(deliver.fields.get(field))
    if not _PHONE.fullmatch(address):
        return ""
    is_international = deliver.fields.get(f"{end}_addr_ton") == _INTERNATIONAL
    return "+" + address.lstrip("+") if is_international else address


def reply(deliver: Pdu) -> Reply | None:
    """What a person wrote back; None for what a machine says, and what is not plain text."""
    phone = _address(deliver, "source")
    is_message = not (deliver.fields.get("esm_class") or 0) & (_KIND | _UDH_INDICATOR)
    if not is_message or not phone:
        return None
    return Reply(phone, _decode(deliver, _octets(deliver)[:_MAX_REPLY_OCTETS]))


def raw(deliver: Pdu) -> bytes:
    """What it said, to be kept: without the beginning of the message, where a code may be."""
    told = " ".join(f"{name}:{value}" for name, value in _line_fields(deliver).items())
    tlvs = (f"{tag:#06x}={deliver.tlvs[tag].hex()}" for tag in _STORED_TLVS if tag in deliver.tlvs)
    return " ".join([told, *tlvs]).encode()


def _line_fields(deliver: Pdu) -> dict[str, str]:
    """The fields in front of `text:`; the first of a name is the one that counts."""
    line = _TEXT.split(_decode(deliver, _octets(deliver)), maxsplit=1)[0]
    return {name.lower(): value for name, value in reversed(_FIELD.findall(line))}


def _octets(deliver: Pdu) -> bytes:
    return deliver.fields.get("short_message") or deliver.tlvs.get(_PAYLOAD) or b""


def _decode(deliver: Pdu, octets: bytes) -> str:
    """UCS-2 by its data_coding, or by the zeros that Latin letters have in it."""
    is_wide = deliver.fields.get("data_coding") == _UCS2 or (
        len(octets) >= 2 and not any(octets[0:20:2])
    )
    if is_wide:
        return octets.decode("utf-16-be", errors="replace").rstrip("\0").strip()
    return text(octets)


def _error(deliver: Pdu, told: dict[str, str]) -> str | None:
    if told.get("err", "").strip("0"):
        return told["err"]
    network = deliver.tlvs.get(_ERROR, b"")  # one octet of network type, two of its code
    number = int.from_bytes(network[1:]) if len(network) == 3 else 0
    return str(number) if number else None
