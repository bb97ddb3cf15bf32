"""The Idempotency-Keys of requests, and their stored responses.

The key's row is inserted in the transaction of the effect, so neither exists without the other.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from django.utils.translation import gettext_lazy as _

from accounts.keys.principal import Principal
from catalogue.errors import DomainError, Error, invalid_input
from parsing.characters import is_line
from storage.statements import sql_files
from storage.statements.queries import execute, select_one

HEADER = "Idempotency-Key"
MAX_LENGTH = 255
MAX_PATH = 60  # characters: the size of the column; the path of every object is shorter


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """The key of one request: its lookup fields and the hash of its body."""

    company_id: int
    mode: str
    path: str
    key: str
    request_hash: bytes

    @property
    def short_hash(self) -> str:
        """Stored in the cool-down, so that a parallel duplicate is recognised."""
        return hashlib.sha256(f"{self.path}\n{self.key}".encode()).hexdigest()[:24]

    @property
    def params(self) -> dict[str, Any]:
        """Parameters of `INSERT`, which runs inside the statement that has the effect."""
        return {"idem_path": self.path, "idem_key": self.key, "idem_hash": self.request_hash}


@dataclass(frozen=True, slots=True)
class StoredResponse:
    status: int
    body: str  # JSON, replayed byte for byte


@dataclass(frozen=True, slots=True)
class MissingResponse:
    """The effect is committed, the response is not: still running, or the process died."""

    subject_id: UUID | None


class _StoredRequest(NamedTuple):
    """A row of `find`."""

    request_hash: bytes
    status: int | None
    body: str
    subject_id: UUID | None
    is_expired: bool


# `params` of a request without a key.
NO_PARAMS: dict[str, Any] = dict.fromkeys(("idem_path", "idem_key", "idem_hash"))

_SQL = sql_files.read_several("api/idempotency.sql")
INSERT = _SQL["insert_with_effect"]


def parse(principal: Principal, path: str, key: str, payload: Mapping[str, Any]) -> IdempotencyKey:
    if len(path) > MAX_PATH or not is_line(path):  # no object has such an id
        raise DomainError(Error.NOT_FOUND)
    if not (0 < len(key) <= MAX_LENGTH and key.isascii() and key.isprintable()):
        expected = _("1 to 255 printable ASCII characters")
        raise invalid_input(**{HEADER: expected})
    try:
        canonical = orjson.dumps(payload, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:  # orjson reads deeper nesting than it writes
        raise DomainError(Error.INVALID_INPUT) from None
    return IdempotencyKey(
        principal.company_id, principal.mode, path, key, hashlib.sha256(canonical).digest()
    )


def find_response(key: IdempotencyKey) -> StoredResponse | MissingResponse | None:
    """The response of an earlier request with this key; raises on a different body.

    A key expires after 24 hours, whether or not the purge has run.
    """
    key_values: list[str | int] = [key.company_id, key.mode, key.path, key.key]
    row = select_one(_StoredRequest, _SQL["find"], key_values)
    if row is not None and row.is_expired:
        execute(_SQL["delete_expired"], key_values)
        row = None
    if row is None:
        return None
    if bytes(row.request_hash) != key.request_hash:
        raise DomainError(Error.IDEMPOTENCY_MISMATCH)
    if row.status is None:
        return MissingResponse(row.subject_id)
    return StoredResponse(row.status, row.body)


def is_stored(key: IdempotencyKey) -> bool:
    """Whether there was a request with this key, whatever its body."""
    try:
        return find_response(key) is not None
    except DomainError:
        return True


def insert(key: IdempotencyKey, subject_id: UUID | None = None) -> None:
    """Inserts the row in the caller's transaction; IntegrityError means a duplicate was first.

    If this process dies, the response is rebuilt from the state of the subject.
    """
    row: list[int | str | bytes | UUID | None]
    row = [key.company_id, key.mode, key.path, key.key, key.request_hash]
    execute(_SQL["insert"], [*row, subject_id])


def forget(key: IdempotencyKey, subject_id: UUID) -> None:
    """Deletes the key's row for this subject, so that the key can have another effect."""
    execute(_SQL["forget"], [key.company_id, key.mode, key.path, key.key, subject_id])


def store_response(key: IdempotencyKey, status: int, body: str) -> StoredResponse:
    """Stores the response for replays unless one is stored; returns the stored one.

    A slow request and a duplicate that rebuilt its response meanwhile must return the same. A
    response never contains a code.
    """
    params = [status, body, key.company_id, key.mode, key.path, key.key]
    return select_one(StoredResponse, _SQL["store"], params) or StoredResponse(status, body)
