"""Builds the submit_sm requests of a message."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from channels.providers import gsm
from channels.providers.base import Outgoing
from channels.providers.gsm import Alphabet

Fields = dict[str, Any]

# Types of number.
INTERNATIONAL = 1
NETWORK_SPECIFIC = 3
ALPHANUMERIC = 5
# Numbering plans.
UNKNOWN = 0
ISDN = 1
AUTO_DETECT = -1  # by whether the source is a name or a number
MAX_NAME_LENGTH = 11  # characters that a phone can show: 3GPP TS 23.040, 9.1.2.5
MAX_NUMBER_DIGITS = 15  # of E.164
MIN_NUMBER_DIGITS = 7  # a number with fewer digits is a short code
UDH_INDICATOR = 0x40  # of esm_class
# Values of data_coding.
DEFAULT_ALPHABET = 0
UCS2 = 8
FINAL_RECEIPT = 1  # registered_delivery: a receipt of the final state, good or bad
MAX_VALIDITY = 30 * 86_400  # seconds: a relative time has no more than 31 days


class DefaultAlphabet(StrEnum):
    """The centre's meaning of data_coding 0."""

    GSM = "gsm"
    LATIN1 = "latin1"
    UCS2 = "ucs2"  # everything is sent in UCS-2


class LongMessages(StrEnum):
    UDH = "udh"  # concatenated parts
    PAYLOAD = "payload"  # whole text in message_payload


class ValidityFormat(StrEnum):
    """The form of validity_period."""

    RELATIVE = "relative"
    ABSOLUTE = "absolute"
    NONE = "none"  # omitted


@dataclass(frozen=True, slots=True)
class MessageFormat:
    """An account's settings of how its messages are encoded."""

    source: str
    source_ton: int
    source_npi: int
    dest_ton: int
    dest_npi: int
    alphabet: str
    long: str
    validity: str = ValidityFormat.RELATIVE

    def __post_init__(self) -> None:
        """Rejects values that would be silently truncated in the PDU."""
        longest = MAX_NUMBER_DIGITS if self._digits else MAX_NAME_LENGTH
        if not (self.source.isascii() and 0 < len(self._digits or self.source) <= longest):
            raise ValueError(
                f"SMPP_URL: source is a name of up to {MAX_NAME_LENGTH} ASCII characters, a "
                f"number of up to {MAX_NUMBER_DIGITS} digits or a short code"
            )
        for name, value, allowed in (
            ("alphabet", self.alphabet, [*DefaultAlphabet]),
            ("long", self.long, [*LongMessages]),
            ("validity", self.validity, [*ValidityFormat]),
        ):
            if value not in allowed:
                raise ValueError(f"{name} is one of {', '.join(allowed)}")

    @property
    def _digits(self) -> str:
        """The source's digits; empty if it is a name."""
        bare = self.source.removeprefix("+")
        return bare if bare.isdecimal() else ""

    def submissions(self, message: Outgoing, reference: int) -> list[Fields]:
        """One request for each part; `reference` tells the phone which parts belong together."""
        common = self._addresses(message.phone) | {
            "validity_period": self._validity(message.ttl),
            "registered_delivery": FINAL_RECEIPT,
        }
        return [common | body for body in self._bodies(message.text, reference)]

    def _addresses(self, phone: str) -> Fields:
        ton, npi = self._detected_type()
        return {
            "source_addr_ton": ton if self.source_ton == AUTO_DETECT else self.source_ton,
            "source_addr_npi": npi if self.source_npi == AUTO_DETECT else self.source_npi,
            "source_addr": self._digits or self.source,
            "dest_addr_ton": self.dest_ton,
            "dest_addr_npi": self.dest_npi,
            "destination_addr": phone.removeprefix("+"),
        }

    def _detected_type(self) -> tuple[int, int]:
        if not self._digits:
            return ALPHANUMERIC, UNKNOWN
        is_short = len(self._digits) < MIN_NUMBER_DIGITS
        return (NETWORK_SPECIFIC, UNKNOWN) if is_short else (INTERNATIONAL, ISDN)

    def _validity(self, seconds: int) -> str:
        if self.validity == ValidityFormat.NONE:
            return ""
        is_relative = self.validity == ValidityFormat.RELATIVE
        return relative_time(seconds) if is_relative else absolute_time(seconds)

    def _bodies(self, text: str, reference: int) -> list[Fields]:
        split = gsm.split(text, self._alphabet(text))
        coding = {"data_coding": UCS2 if split.alphabet is Alphabet.UCS2 else DEFAULT_ALPHABET}
        total = len(split.pieces)
        if total == 1:
            return [coding | {"short_message": self._octets(text, split.alphabet)}]
        if self.long == LongMessages.PAYLOAD:
            return [coding | {"message_payload": self._octets(text, split.alphabet)}]
        joined = coding | {"esm_class": UDH_INDICATOR}
        return [
            joined
            | {
                "short_message": gsm.header(reference, total, number)
                + self._octets(piece, split.alphabet)
            }
            for number, piece in enumerate(split.pieces, start=1)
        ]

    def _alphabet(self, text: str) -> Alphabet:
        is_latin1 = self.alphabet == DefaultAlphabet.LATIN1
        if self.alphabet == DefaultAlphabet.UCS2 or (is_latin1 and max(text, default="") > "\xff"):
            return Alphabet.UCS2
        return gsm.alphabet_of(text)

    def _octets(self, piece: str, alphabet: Alphabet) -> bytes:
        if alphabet is Alphabet.GSM and self.alphabet == DefaultAlphabet.LATIN1:
            return piece.encode("latin-1")
        return gsm.encode(piece, alphabet)


def relative_time(seconds: int) -> str:
    """A validity period in SMPP's relative format: YYMMDDhhmmss, tenths, quarters, R."""
    minutes, second = divmod(min(max(seconds, 1), MAX_VALIDITY), 60)
    hours, minute = divmod(minutes, 60)
    day, hour = divmod(hours, 24)
    return f"0000{day:02}{hour:02}{minute:02}{second:02}000R"


def absolute_time(seconds: int) -> str:
    """The time `seconds` from now in SMPP's absolute format, in UTC."""
    moment = datetime.now(UTC) + timedelta(seconds=min(max(seconds, 1), MAX_VALIDITY))
    return f"{moment:%y%m%d%H%M%S}000+"
