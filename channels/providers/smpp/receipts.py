"""Parses delivery receipts of deliver_sm and data_sm: from optional parameters or the text line.

Appendix B of SMPP 3.4 defines the line and calls it vendor specific: names come in any case and
order, with extra spaces, with dates of ten or twelve digits in an unknown time zone. Some centres
encode it in UCS-2, some leave esm_class at 0, some spell the states out.
"""

import re
from collections.abc import Collection

from smpplib import consts

from channels.providers.inbound import InboundEvents, Receipt, ReceiptState, Reply
from channels.providers.smpp.message_ids import IdFormat
from channels.providers.smpp.pdu import Pdu

_KIND, _RECEIPT, _INTERMEDIATE = 0x3C, 0x04, 0x20  # of esm_class
_INTERNATIONAL = 1  # type of number
_UDH_INDICATOR = 0x40  # a part of a concatenated message, so it cannot be a keyword
_UCS2 = 0x08  # data_coding
_MAX_REPLY_OCTETS = 280  # octets, more than any keyword needs
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
# UNKNOWN is left out: the deadline decides.
_STATES = {
    "ENROUTE": ReceiptState.SENT,
    "ACCEPTD": ReceiptState.SENT,
    "DELIVRD": ReceiptState.DELIVERED,
    "EXPIRED": ReceiptState.EXPIRED,
    "DELETED": ReceiptState.FAILED,
    "UNDELIV": ReceiptState.UNREACHABLE,
    "REJECTD": ReceiptState.FAILED,
}
_UNDELIVERED = {ReceiptState.UNREACHABLE, ReceiptState.FAILED}
# network_error_code: GSM, and callBarred of 3GPP TS 29.002. The text's `err` is each centre's own.
_CALL_BARRED = bytes([3, 0, 13])
_STORED_TLVS = (_ID, _STATE, _ERROR)
_FIELD = re.compile(
    r"\b(id|sub|dlvrd|submit ?date|done ?date|stat|err)\s*:\s*([^\s:]+)", re.IGNORECASE
)
_TEXT = re.compile(r"\btext\s*:", re.IGNORECASE)
# With an id and a state, what a person would hardly write: a receipt without its esm_class.
_OF_A_RECEIPT = {"sub", "dlvrd", "submit date", "submitdate", "done date", "donedate"}


def text(octets: bytes | None) -> str:
    return (octets or b"").rstrip(b"\x00").decode("latin-1").strip()


def read(
    deliver: Pdu, id_format: IdFormat, barred_errors: Collection[str] = ()
) -> InboundEvents | None:
    """None for what is neither a receipt of a known state nor a person's reply.

    `barred_errors`: the centre's own codes for what the subscriber has forbidden.
    """
    if found := receipt(deliver, id_format, barred_errors):
        return InboundEvents(raw(deliver), receipts=[found])
    if said := reply(deliver):
        return InboundEvents(b"", replies=[said])
    return None


def receipt(
    deliver: Pdu, id_format: IdFormat, barred_errors: Collection[str] = ()
) -> Receipt | None:
    """None for anything else: a message from a phone, a receipt of unknown state."""
    line = _line_fields(deliver)
    if not _is_receipt(deliver, line):
        return None
    word = _state_word(deliver, line)
    message_id = text(deliver.tlvs.get(_ID)) or line.get("id", "")
    if word not in _STATES or not message_id:
        return None
    first, *others = id_format.from_receipt(message_id)
    could_be_from_phone = _could_be_from_phone(deliver)
    error = _error(deliver, line)
    is_barred = _is_call_barred(deliver) or error in barred_errors
    state = _STATES[word]
    return Receipt(
        provider_id=first,
        ref=None,
        state=ReceiptState.BARRED if is_barred and state in _UNDELIVERED else state,
        word=word,
        error_code=error,
        alternatives=tuple(others),
        phone=_address(deliver, "source") if could_be_from_phone else _phone(deliver),
        needs_phone=could_be_from_phone,
    )


def _is_receipt(deliver: Pdu, line: dict[str, str]) -> bool:
    """By esm_class; if that is 0, by optional parameters that no phone can send, or by the complete
    receipt line.
    """
    if not _could_be_from_phone(deliver):
        kind = (deliver.fields.get("esm_class") or 0) & _KIND
        return kind in {0, _RECEIPT, _INTERMEDIATE}
    return {"id", "stat"} <= line.keys() and not _OF_A_RECEIPT.isdisjoint(line)


def _could_be_from_phone(deliver: Pdu) -> bool:
    """Whether a phone could have forged this: then it counts only for messages to that phone."""
    kind = (deliver.fields.get("esm_class") or 0) & _KIND
    return not kind and not (_ID in deliver.tlvs and _STATE in deliver.tlvs)


def _state_word(deliver: Pdu, line: dict[str, str]) -> str:
    state = int.from_bytes(deliver.tlvs.get(_STATE, b""))
    word = line.get("stat", "").upper()
    return _STATE_WORDS.get(state, _WORD_VARIANTS.get(word, word))


def _phone(deliver: Pdu) -> str:
    """The recipient's phone: some centres keep the addresses in the message's order."""
    return _address(deliver, "source") or _address(deliver, "dest")


def _address(deliver: Pdu, end: str) -> str:
    """A phone, with a plus if the centre marks it international; empty for a name."""
    field = "source_addr" if end == "source" else "destination_addr"
    address = text(deliver.fields.get(field))
    if not _PHONE.fullmatch(address):
        return ""
    is_international = deliver.fields.get(f"{end}_addr_ton") == _INTERNATIONAL
    return "+" + address.lstrip("+") if is_international else address


def reply(deliver: Pdu) -> Reply | None:
    """A person's reply; None for receipts and for concatenated parts."""
    phone = _address(deliver, "source")
    is_message = not (deliver.fields.get("esm_class") or 0) & (_KIND | _UDH_INDICATOR)
    if not is_message or not phone:
        return None
    return Reply(phone, _decode(deliver, _octets(deliver)[:_MAX_REPLY_OCTETS]))


def raw(deliver: Pdu) -> bytes:
    """The receipt to store, without the excerpt of the message, which may hold a code."""
    fields = " ".join(f"{name}:{value}" for name, value in _line_fields(deliver).items())
    tlvs = (f"{tag:#06x}={deliver.tlvs[tag].hex()}" for tag in _STORED_TLVS if tag in deliver.tlvs)
    return " ".join([fields, *tlvs]).encode()


def _line_fields(deliver: Pdu) -> dict[str, str]:
    """The fields before `text:`; the first of each name counts."""
    line = _TEXT.split(_decode(deliver, _octets(deliver)), maxsplit=1)[0]
    return {name.lower(): value for name, value in reversed(_FIELD.findall(line))}


def _octets(deliver: Pdu) -> bytes:
    return deliver.fields.get("short_message") or deliver.tlvs.get(_PAYLOAD) or b""


def _decode(deliver: Pdu, octets: bytes) -> str:
    """Decodes UCS-2 by data_coding, or by the zero octets of its Latin letters."""
    is_wide = deliver.fields.get("data_coding") == _UCS2 or (
        len(octets) >= 2 and not any(octets[0:20:2])
    )
    if is_wide:
        return octets.decode("utf-16-be", errors="replace").rstrip("\0").strip()
    return text(octets)


def _is_call_barred(deliver: Pdu) -> bool:
    return deliver.tlvs.get(_ERROR) == _CALL_BARRED


def _error(deliver: Pdu, line: dict[str, str]) -> str | None:
    if line.get("err", "").strip("0"):
        return line["err"]
    network = deliver.tlvs.get(_ERROR, b"")  # one octet of network type, two of its code
    number = int.from_bytes(network[1:]) if len(network) == 3 else 0
    return str(number) if number else None
