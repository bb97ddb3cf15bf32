"""A message as the submit_sm requests that carry it."""

from dataclasses import dataclass
from typing import Any

from channels.providers import gsm
from channels.providers.base import Outgoing
from channels.providers.gsm import Alphabet

Fields = dict[str, Any]

INTERNATIONAL, ALPHANUMERIC = 1, 5  # type of number
UNKNOWN, ISDN = 0, 1  # numbering plan
BY_LOOKS = -1  # of the source: a name or a number
LONGEST_SOURCE = 20  # octets
HAS_HEADER = 0x40  # of esm_class
DEFAULT_ALPHABET, UCS2 = 0, 8  # data_coding
A_RECEIPT = 1  # registered_delivery: of the final state, good or bad
LONGEST_VALIDITY = 30 * 86_400  # seconds: a relative time has no more than 31 days

ALPHABETS = ("gsm", "latin1", "ucs2")
LONG = ("udh", "payload")


@dataclass(frozen=True, slots=True)
class Style:
    """How an account wants its messages written."""

    source: str
    source_ton: int
    source_npi: int
    dest_ton: int
    dest_npi: int
    alphabet: str  # what the centre takes data_coding 0 for
    long: str  # parts with headers, or the whole in message_payload

    def __post_init__(self) -> None:
        """What a request has no room for would be cut off without a word."""
        if not (self.source.isascii() and len(self.source) <= LONGEST_SOURCE):
            raise ValueError(f"SMPP_SOURCE must be ASCII, {LONGEST_SOURCE} octets at most")
        if self.alphabet not in ALPHABETS or self.long not in LONG:
            known = f"SMPP_ALPHABET is one of {ALPHABETS}, SMPP_LONG one of {LONG}"
            raise ValueError(known)

    def submissions(self, message: Outgoing, reference: int) -> list[Fields]:
        """One for each part; `reference` tells the phone which parts belong together."""
        common = self._addresses(message.phone) | {
            "validity_period": validity(message.ttl),
            "registered_delivery": A_RECEIPT,
        }
        return [common | body for body in self._bodies(message.text, reference)]

    def _addresses(self, phone: str) -> Fields:
        is_number = self.source.removeprefix("+").isdecimal()
        ton, npi = (INTERNATIONAL, ISDN) if is_number else (ALPHANUMERIC, UNKNOWN)
        return {
            "source_addr_ton": ton if self.source_ton == BY_LOOKS else self.source_ton,
            "source_addr_npi": npi if self.source_npi == BY_LOOKS else self.source_npi,
            "source_addr": self.source.removeprefix("+"),
            "dest_addr_ton": self.dest_ton,
            "dest_addr_npi": self.dest_npi,
            "destination_addr": phone.removeprefix("+"),
        }

    def _bodies(self, text: str, reference: int) -> list[Fields]:
        found = gsm.split(text, self._alphabet(text))
        coding = {"data_coding": UCS2 if found.alphabet is Alphabet.UCS2 else DEFAULT_ALPHABET}
        total = len(found.pieces)
        if total == 1:
            return [coding | {"short_message": self._octets(text, found.alphabet)}]
        if self.long == "payload":
            return [coding | {"message_payload": self._octets(text, found.alphabet)}]
        joined = coding | {"esm_class": HAS_HEADER}
        return [
            joined
            | {
                "short_message": gsm.header(reference, total, number)
                + self._octets(piece, found.alphabet)
            }
            for number, piece in enumerate(found.pieces, start=1)
        ]

    def _alphabet(self, text: str) -> Alphabet:
        if self.alphabet == "ucs2" or (self.alphabet == "latin1" and not _is_latin(text)):
            return Alphabet.UCS2
        return gsm.alphabet_of(text)

    def _octets(self, piece: str, alphabet: Alphabet) -> bytes:
        if alphabet is Alphabet.GSM and self.alphabet == "latin1":
            return piece.encode("latin-1")
        return gsm.encode(piece, alphabet)


def validity(seconds: int) -> str:
    """From now on, as SMPP writes a relative time: YYMMDDhhmmss, tenths, quarters, R."""
    minutes, second = divmod(min(max(seconds, 1), LONGEST_VALIDITY), 60)
    hours, minute = divmod(minutes, 60)
    day, hour = divmod(hours, 24)
    return f"0000{day:02}{hour:02}{minute:02}{second:02}000R"


def _is_latin(text: str) -> bool:
    return all(char <= "\xff" for char in text)
