"""Custom codes, which a company made itself, encrypted until their message ends.

Our own codes are derived when needed; a custom code has to be stored. It has a row apart from the
message's, so that nothing that shows, exports or backs up messages can read it, and the row is
deleted rather than emptied. `otp/sealed_codes.sql` deletes it with the end of its message or
verification.
"""

import os
import re
from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from channels.extensions import NotRenderableError
from channels.providers.base import Content
from otp import codes, sql
from storage.statements.queries import execute
from storage.statements.single_statement import fetch_rows

_GATEWAY_CODE = re.compile(r"[0-9]{4,8}")  # https://core.telegram.org/gateway/api
_NONCE_BYTES = 12


def content_of(code: str) -> Content:
    """The content type that a channel must support for this code."""
    return Content.CUSTOM_DIGITS if _GATEWAY_CODE.fullmatch(code) else Content.CUSTOM_CODE


class SealedCode(NamedTuple):
    message_id: UUID
    key_id: str
    sealed: bytes

    def open(self) -> str:
        if self.key_id not in codes.known_keys():
            raise NotRenderableError("the key of this code is no longer in OTP_KEYS")
        nonce = self.sealed[:_NONCE_BYTES]
        text = self.sealed[_NONCE_BYTES:]
        try:
            return _cipher(self.key_id).decrypt(nonce, text, self.message_id.bytes).decode()
        except InvalidTag:
            raise NotRenderableError("this code was sealed for another message") from None


def seal(code: str, message_id: UUID) -> SealedCode:
    """Encrypts the code under the current key, bound to this message."""
    key_id = codes.current_key()
    nonce = os.urandom(_NONCE_BYTES)
    text = _cipher(key_id).encrypt(nonce, code.encode(), message_id.bytes)
    return SealedCode(message_id, key_id, nonce + text)


def _cipher(key_id: str) -> AESGCM:
    return AESGCM(codes.subkey(key_id, b"seal"))


def find(message_ids: Sequence[UUID]) -> dict[UUID, SealedCode]:
    """The codes by message, for those that have one."""
    rows = fetch_rows(sql.SEALED_CODES, [list(message_ids)], _sealed_code)
    return {row.message_id: row for row in rows}


def _sealed_code(**columns: Any) -> SealedCode:
    return SealedCode(**columns | {"sealed": bytes(columns["sealed"])})


def wipe_expired() -> None:
    """Deletes expired codes; most were deleted with their message."""
    execute(sql.WIPE_EXPIRED_CODES)
