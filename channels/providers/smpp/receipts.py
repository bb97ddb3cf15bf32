"""Parses delivery receipts of deliver_sm and data_sm, from optional parameters or the text line.

Appendix B of SMPP 3.4 defines the line and calls it vendor specific: names come in any case and
order, with extra spaces or no value, with dates of ten or twelve digits in an unknown time zone.
Some centres encode it in UCS-2, leave esm_class at 0, spell the states out, or have states of their
own.

§5.2.23 leaves the id to the centre. Observed: hexadecimal in the response and decimal in the
receipt, the reverse, another case, and leading zeros in one of the two.
"""

import re
from codecs import BOM_UTF16_LE
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import chain

from smpplib import consts

from channels.providers.inbound import (
    AccountAlert,
    AlertKind,
    InboundEvents,
    Receipt,
    ReceiptState,
    Reply,
)
from channels.providers.smpp.pdu import Pdu

_HEXADECIMAL = re.compile(r"[0-9a-f]{1,64}", re.ASCII)  # an id has 64 octets at most
_DECIMAL = re.compile(r"[0-9]{1,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class IdFormat:
    """The way an account's ids are normalised."""

    from_response: Callable[[str], str]  # the id to store
    from_receipt: Callable[[str], tuple[str, ...]]  # candidates for the stored id, likeliest first


def _normalise(written: str) -> str:
    """Lower-cases the id; removes leading zeros from numbers."""
    lower = written.lower()
    return (lower.lstrip("0") or "0") if _HEXADECIMAL.fullmatch(lower) else lower


def _candidates(written: str) -> tuple[str, ...]:
    plain = _normalise(written)
    candidates = [plain]
    if _DECIMAL.fullmatch(plain):
        candidates.append(f"{int(plain):x}")
    if _HEXADECIMAL.fullmatch(plain):
        candidates.append(str(int(plain, 16)))
    candidates.append(written)  # the form in which ids were stored before formats were recognised
    return tuple(dict.fromkeys(candidates))


def _unchanged(written: str) -> str:
    return written


def _number_reader(base: int) -> Callable[[str], str]:
    def read(written: str) -> str:
        """Converts the id; an id that is not a number stays unchanged."""
        try:
            return str(int(written, base))
        except ValueError:
            return written

    return read


def _as_tuple(read: Callable[[str], str]) -> Callable[[str], tuple[str, ...]]:
    return lambda written: (read(written),)


_hexadecimal = _number_reader(16)
_decimal = _number_reader(10)
ID_FORMATS: dict[str, IdFormat] = {
    "auto": IdFormat(_normalise, _candidates),
    "same": IdFormat(_unchanged, _as_tuple(_unchanged)),
    "hex": IdFormat(_hexadecimal, _as_tuple(_hexadecimal)),
    "decimal": IdFormat(_decimal, _as_tuple(_decimal)),
    "hex-decimal": IdFormat(_hexadecimal, _as_tuple(_decimal)),
    "decimal-hex": IdFormat(_decimal, _as_tuple(_hexadecimal)),
}


# Bits of esm_class.
_KIND = 0x3C
_RECEIPT = 0x04
_INTERMEDIATE = 0x20
_INTERNATIONAL = 1  # type of number
_UDH_INDICATOR = 0x40  # a part of a concatenated message, so not a keyword
# data_coding: UCS-2 by SMPP, and with a message class by 3GPP TS 23.038; Cyrillic by SMPP.
_UCS2 = {0x08, *range(0x18, 0x1C)}
_CYRILLIC = consts.SMPP_ENCODING_ISO88595
_MAX_REPLY_OCTETS = 280  # octets, more than any keyword needs
_MAX_STATE = 20  # characters of an unknown state
_PHONE = re.compile(r"\+?[1-9][0-9]{6,14}")
_ID = consts.OPTIONAL_PARAMS["receipted_message_id"]
_STATE = consts.OPTIONAL_PARAMS["message_state"]
_ERROR = consts.OPTIONAL_PARAMS["network_error_code"]
_PAYLOAD = consts.OPTIONAL_PARAMS["message_payload"]

# message_state of SMPP 5.0 §4.7.15; version 3.4 has 1 to 8.
_STATE_NAMES = {
    0: "SCHEDULED",
    1: "ENROUTE",
    2: "DELIVRD",
    3: "EXPIRED",
    4: "DELETED",
    5: "UNDELIV",
    6: "ACCEPTD",
    7: "UNKNOWN",
    8: "REJECTD",
    9: "SKIPPED",
}
_STATES_OF_3_4 = range(1, 9)
_STATE_VARIANTS = {
    "DELIVERED": "DELIVRD",
    "DELIVERD": "DELIVRD",
    "UNDELIVERED": "UNDELIV",
    "UNDELIVERABLE": "UNDELIV",
    "UNDELIVRD": "UNDELIV",
    "ACCEPTED": "ACCEPTD",
    "REJECTED": "REJECTD",
    "EN_ROUTE": "ENROUTE",
    "BUFFERED": "BUFFRED",
}
_UNKNOWN = "UNKNOWN"  # a standard state without a result: the deadline decides
# BUFFRED, ACKED and FAILED are states of Mblox, adopted by others.
_STATES = {
    "ENROUTE": ReceiptState.SENT,
    "ACCEPTD": ReceiptState.SENT,
    "SCHEDULED": ReceiptState.SENT,
    "BUFFRED": ReceiptState.SENT,
    "ACKED": ReceiptState.SENT,
    "DELIVRD": ReceiptState.DELIVERED,
    "EXPIRED": ReceiptState.EXPIRED,
    "DELETED": ReceiptState.FAILED,
    "UNDELIV": ReceiptState.UNREACHABLE,
    "REJECTD": ReceiptState.FAILED,
    "FAILED": ReceiptState.FAILED,
    "SKIPPED": ReceiptState.FAILED,
}
# Outcomes for an account's own table of states, by name or by number of message_state.
_IGNORED = "ignored"
_OWN_STATES: dict[str, ReceiptState | None] = {
    **{
        state.value: state
        for state in ReceiptState
        if state not in {ReceiptState.READ, ReceiptState.NOT_FOUND}
    },
    _IGNORED: None,
}
_UNDELIVERED = {ReceiptState.UNREACHABLE, ReceiptState.FAILED}
# network_error_code: GSM, and callBarred of 3GPP TS 29.002. The `err` of the text differs between
# centres.
_CALL_BARRED = bytes([3, 0, 13])
_STORED_TLVS = (_ID, _STATE, _ERROR)
_SPACE = " \t\r\n"  # excludes control characters, which Python's white space includes
_NAMES = "id|sub|dlvrd|submit ?date|done ?date|stat|err"
# A value ends at white space or a colon. A value with a control character is invalid: its beginning
# could be the id of another message.
_FIELD = re.compile(
    rf"(?<![\w-])({_NAMES})[ \t\r\n]*:[ \t\r\n]*(?!(?:{_NAMES}|text)[ \t\r\n]*:)"
    r"([^ :\x00-\x1f\x7f-\x9f]+)(?=[ \t\r\n:]|\Z)",
    re.IGNORECASE | re.ASCII,
)
_TEXT = re.compile(r"\btext[ \t\r\n]*:", re.IGNORECASE | re.ASCII)
# Words that, with an id and a state, a person would hardly write: a receipt without its esm_class.
_OF_A_RECEIPT = {"sub", "dlvrd", "submit date", "submitdate", "done date", "donedate"}


def text(octets: bytes | None, alphabet: str = "latin-1") -> str:
    return (octets or b"").rstrip(b"\x00").decode(alphabet).strip(_SPACE)


@dataclass(frozen=True, slots=True)
class ReceiptFormat:
    """The format of an account's receipts."""

    ids: IdFormat
    # the account's own states
    states: Mapping[str, ReceiptState | None] = field(default_factory=dict)
    # the account's codes for messages barred by the subscriber
    barred_errors: frozenset[str] = frozenset()

    def state(self, status: str) -> ReceiptState | None:
        return self.states.get(status, _STATES.get(status))

    def is_known(self, status: str) -> bool:
        return status in {*self.states, *_STATES, _UNKNOWN}


def parse_states(written: Mapping[str, str]) -> dict[str, ReceiptState | None]:
    """Parses an account's own states, as {"FAILED": "unreachable", "9": "ignored"}; raises
    ValueError.
    """
    try:
        return {
            _canonical_state(name): _OWN_STATES[state.lower()] for name, state in written.items()
        }
    except KeyError as error:
        names = ", ".join(_OWN_STATES)
        raise ValueError(
            f"SMPP_URL: receipt_states: unknown state {error}; known: {names}"
        ) from None


def _canonical_state(written: str) -> str:
    if written.isascii() and written.isdecimal():
        return _STATE_NAMES.get(int(written), written)
    return _STATE_VARIANTS.get(written.upper(), written.upper())


def read(deliver: Pdu, receipt_format: ReceiptFormat) -> InboundEvents | None:
    """Reads a receipt or a person's reply; None for anything else."""
    if read_receipt := receipt(deliver, receipt_format):
        return InboundEvents(raw(deliver), receipts=[read_receipt])
    if _is_receipt(deliver, line := _line_fields(deliver)):
        status = _vendor_status(deliver, line)
        has_id = bool(_message_ids(deliver, line))
        return None if has_id and receipt_format.is_known(status) else _unknown_state(status)
    if answer := reply(deliver):
        return InboundEvents(b"", replies=[answer])
    return None


def _unknown_state(status: str) -> InboundEvents:
    """An alert for the operator, who may map the state in `receipt_states`."""
    state = "".join(char for char in status if char.isalnum())[:_MAX_STATE] or "no state"
    return InboundEvents(b"", alerts=[AccountAlert("receipt", state, AlertKind.WARNING)])


def receipt(deliver: Pdu, receipt_format: ReceiptFormat) -> Receipt | None:
    """Reads a receipt; None for a message from a phone and a receipt of unknown state."""
    line = _line_fields(deliver)
    if not _is_receipt(deliver, line):
        return None
    status = _vendor_status(deliver, line)
    state = receipt_format.state(status)
    written = map(receipt_format.ids.from_receipt, _message_ids(deliver, line))
    first, *others = dict.fromkeys(chain.from_iterable(written)) or [""]
    if state is None or not first:
        return None
    could_be_from_phone = _could_be_from_phone(deliver)
    error = _error(deliver, line)
    is_barred = deliver.tlvs.get(_ERROR) == _CALL_BARRED or error in receipt_format.barred_errors
    return Receipt(
        provider_id=first,
        ref=None,
        state=ReceiptState.BARRED if is_barred and state in _UNDELIVERED else state,
        vendor_status=status,
        error_code=error,
        alternatives=tuple(others),
        phone=_address(deliver, "source") if could_be_from_phone else _phone(deliver),
        needs_phone=could_be_from_phone,
    )


def _message_ids(deliver: Pdu, line: dict[str, str]) -> list[str]:
    """The ids written by the centre: some centres write two, one of them that of the response."""
    written = (text(deliver.tlvs.get(_ID)), line.get("id", ""))
    return [number for number in dict.fromkeys(written) if number]


def _is_receipt(deliver: Pdu, line: dict[str, str]) -> bool:
    """Whether this is a receipt.

    It is by its esm_class or, if that is 0, by optional parameters that no phone can send, or by a
    complete receipt line.
    """
    if not _could_be_from_phone(deliver):
        kind = (deliver.fields.get("esm_class") or 0) & _KIND
        return kind in {0, _RECEIPT, _INTERMEDIATE}
    return {"id", "stat"} <= line.keys() and not _OF_A_RECEIPT.isdisjoint(line)


def _could_be_from_phone(deliver: Pdu) -> bool:
    """Whether a phone could have forged this; it then counts only for messages to that phone."""
    kind = (deliver.fields.get("esm_class") or 0) & _KIND
    return not kind and not (_ID in deliver.tlvs and _STATE in deliver.tlvs)


def _vendor_status(deliver: Pdu, line: dict[str, str]) -> str:
    """A state of the standard, or of the centre; an unknown number stays unchanged."""
    status = line.get("stat", "").upper()
    status = _STATE_VARIANTS.get(status, status)
    octets = deliver.tlvs.get(_STATE)
    if not octets:
        return status
    state = int.from_bytes(octets.strip(b"\0")[:1])  # some centres write a longer number
    state_name = _STATE_NAMES.get(state, str(state))
    # A centre of version 3.4 may leave the number at 0: then the text decides.
    return state_name if state in _STATES_OF_3_4 else status or state_name


def _phone(deliver: Pdu) -> str:
    """The recipient's phone; some centres keep the addresses in the message's order."""
    return _address(deliver, "source") or _address(deliver, "dest")


def _address(deliver: Pdu, end: str) -> str:
    """A phone, with a plus if the centre marks it international; empty for a name."""
    name = "source_addr" if end == "source" else "destination_addr"
    address = text(deliver.fields.get(name))
    if not _PHONE.fullmatch(address):
        return ""
    is_international = deliver.fields.get(f"{end}_addr_ton") == _INTERNATIONAL
    return "+" + address.lstrip("+") if is_international else address


def reply(deliver: Pdu) -> Reply | None:
    """A person's reply; None for receipts and concatenated parts."""
    if (deliver.fields.get("esm_class") or 0) & (_KIND | _UDH_INDICATOR):
        return None
    phone = _address(deliver, "source")
    content = _decode(deliver, _octets(deliver)[:_MAX_REPLY_OCTETS])
    return Reply(phone, content, "" if phone else text(deliver.fields.get("source_addr")))


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
    """Decodes by data_coding, or by the octets if it is wrong or absent."""
    coding = deliver.fields.get("data_coding")
    # UCS-2 is recognised by the high octets of Latin and Cyrillic letters.
    if coding in _UCS2 or (len(octets) >= 2 and {0x00, 0x04}.issuperset(octets[0:20:2])):
        order = "le" if octets.startswith(BOM_UTF16_LE) else "be"
        wide = octets.decode(f"utf-16-{order}", errors="replace")
        return wide.removeprefix("\ufeff").rstrip("\0").strip(_SPACE)
    if coding == _CYRILLIC:
        return text(octets, "iso8859-5")
    try:
        return text(octets, "utf-8")  # text of another alphabet is hardly ever valid by chance
    except UnicodeDecodeError:
        return text(octets)


def _error(deliver: Pdu, line: dict[str, str]) -> str | None:
    if line.get("err", "").strip("0"):
        return line["err"]
    network = deliver.tlvs.get(_ERROR, b"")  # one octet of network type, two octets of its code
    number = int.from_bytes(network[1:]) if len(network) == 3 else 0
    return str(number) if number else None
