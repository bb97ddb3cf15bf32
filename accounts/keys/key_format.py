"""The format of an API key: a prefix with its mode, 32 random characters, and their checksum."""

import hashlib
import secrets
import zlib

ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
RANDOM_LENGTH = 32  # 190 bits
CHECKSUM_LENGTH = 6


def _checksum(text: str) -> str:
    value = zlib.crc32(text.encode())
    digits = ""
    for _ in range(CHECKSUM_LENGTH):
        value, digit = divmod(value, 62)
        digits = ALPHABET[digit] + digits
    return digits


def generate(mode: str) -> str:
    body = f"kv_{mode}_" + "".join(secrets.choice(ALPHABET) for _ in range(RANDOM_LENGTH))
    return body + _checksum(body)


def is_well_formed(key: str) -> bool:
    """Rejects malformed keys without a query; secret scanners can use the checksum too."""
    return (
        key.isascii()
        and key.startswith(("kv_live_", "kv_test_"))
        and len(key) == 8 + RANDOM_LENGTH + CHECKSUM_LENGTH
        and key[-CHECKSUM_LENGTH:] == _checksum(key[:-CHECKSUM_LENGTH])
    )


def digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()
