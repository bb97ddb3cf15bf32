"""A dialect's table of refusals: rows for the errors that it has words for, and what stands in."""

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from catalogue.errors import DomainError, Error


class Row(NamedTuple):
    """How a dialect refuses; without a message of its own, ours is written."""

    status: int
    code: str | int
    message: str = ""


# What an error is a case of, for dialects without a word for it.
CASE_OF = {
    Error.HTTPS_REQUIRED: Error.FORBIDDEN,
    Error.CHALLENGE_REQUIRED: Error.FORBIDDEN,
    Error.PERSON_BUSY: Error.REQUEST_IN_PROGRESS,
    Error.INVALID_PHONE: Error.INVALID_INPUT,
    Error.COUNTRY_NOT_ALLOWED: Error.INVALID_INPUT,
    Error.RECIPIENT_UNREACHABLE: Error.INVALID_INPUT,
    Error.CHANNEL_UNAVAILABLE: Error.INVALID_INPUT,
    Error.LINK_NOT_SUPPORTED: Error.INVALID_INPUT,
    Error.URL_NOT_ALLOWED: Error.INVALID_INPUT,
    Error.ALIAS_TAKEN: Error.INVALID_INPUT,
    Error.IDEMPOTENCY_MISMATCH: Error.INVALID_INPUT,
    Error.UNSUPPORTED_MEDIA_TYPE: Error.INVALID_INPUT,
    Error.CODE_INVALID: Error.INVALID_INPUT,
    Error.BINDING_MISMATCH: Error.CODE_INVALID,
    Error.CODE_EXPIRED: Error.CODE_NOT_FOUND,
    Error.CODE_USED: Error.CODE_NOT_FOUND,
    Error.CODE_NOT_FOUND: Error.NOT_FOUND,
    Error.RESEND_TOO_SOON: Error.SEND_LIMIT,
    Error.SEND_LIMIT: Error.RATE_LIMITED,
    Error.TOO_MANY_ATTEMPTS: Error.RATE_LIMITED,
    Error.DELIVERY_FAILED: Error.UNAVAILABLE,
}
RowT = TypeVar("RowT")


def complete(rows: Mapping[Error, RowT]) -> Mapping[Error, RowT]:
    """With a row for every error."""
    return {error: _row(rows, error) for error in Error}


def _row(rows: Mapping[Error, RowT], error: Error) -> RowT:
    return rows[error] if error in rows else _row(rows, CASE_OF[error])


def is_last_guess(error: DomainError) -> bool:
    """Whether a code was wrong, and no attempt is left."""
    return error.error is Error.CODE_INVALID and not error.extra.get("attempts_left")


def limit_of(error: DomainError) -> str:
    """The kind of the limit on sends that was reached; empty for other refusals."""
    limit = error.extra.get("limit")
    return str(limit["kind"]) if isinstance(limit, dict) else ""
