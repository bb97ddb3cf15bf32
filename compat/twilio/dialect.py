"""Twilio Verify v2: how it writes a refusal.

https://www.twilio.com/docs/verify/api, numbers: https://www.twilio.com/docs/api/errors
"""

from typing import NamedTuple

from catalogue.errors import DomainError, Error
from compat.dialect import Answer, Dialect, by_basic_password


class Row(NamedTuple):
    """A refusal's number; the message is ours where Twilio's would say less."""

    status: int
    code: int
    message: str = ""


INVALID, NOT_FOUND = Row(400, 60200, "Invalid parameter"), Row(404, 20404)
ERRORS = {
    Error.INVALID_API_KEY: Row(401, 20003, "Authenticate"),
    Error.INSUFFICIENT_TOKENS: Row(403, 20003, "The balance is too low"),
    Error.FORBIDDEN: Row(403, 20003),
    Error.HTTPS_REQUIRED: Row(403, 20003),
    Error.NOT_FOUND: NOT_FOUND,
    Error.METHOD_NOT_ALLOWED: Row(405, 20004),
    Error.REQUEST_TIMEOUT: Row(408, 20408),
    Error.REQUEST_IN_PROGRESS: Row(409, 20409),
    Error.PERSON_BUSY: Row(409, 20409),
    Error.UNSUPPORTED_MEDIA_TYPE: Row(
        415, 20415, "Send the body as application/x-www-form-urlencoded"
    ),
    Error.INVALID_INPUT: INVALID,
    Error.INVALID_PHONE: INVALID,
    Error.COUNTRY_NOT_ALLOWED: Row(403, 60605),
    Error.RECIPIENT_UNREACHABLE: INVALID,
    Error.CHANNEL_UNAVAILABLE: Row(403, 60223),
    Error.LINK_NOT_SUPPORTED: INVALID,
    Error.URL_NOT_ALLOWED: INVALID,
    Error.ALIAS_TAKEN: INVALID,
    Error.IDEMPOTENCY_MISMATCH: INVALID,
    Error.CHALLENGE_REQUIRED: Row(403, 60410, "Verification delivery attempt blocked"),
    Error.CODE_INVALID: INVALID,  # never written: a wrong code is an answer
    Error.CODE_EXPIRED: NOT_FOUND,
    Error.CODE_USED: NOT_FOUND,
    Error.CODE_NOT_FOUND: NOT_FOUND,
    Error.RESEND_TOO_SOON: Row(429, 60203, "Max send attempts reached"),
    Error.SEND_LIMIT: Row(429, 60203, "Max send attempts reached"),
    Error.TOO_MANY_ATTEMPTS: Row(429, 60202, "Max check attempts reached"),
    Error.RATE_LIMITED: Row(429, 20429),
    Error.INTERNAL_ERROR: Row(500, 20500),
    Error.DELIVERY_FAILED: Row(503, 20503),
    Error.UNAVAILABLE: Row(503, 20503),
}


def refuse(error: DomainError, _request_id: str) -> Answer:
    row = ERRORS[error.error]
    return Answer(
        row.status,
        {
            "code": row.code,
            "message": f"{row.message}: {said}" if (said := _detail(error)) else row.message,
            "more_info": f"https://www.twilio.com/docs/errors/{row.code}",
            "status": row.status,
        },
    )


def _detail(error: DomainError) -> str:
    """What the refusal says of the request: the fields at fault, or our sentence."""
    if error.errors:
        return "; ".join(f"`{name}` {texts[0]}" for name, texts in error.errors.items())
    return str(error.error.message if error.message is None else error.message)


DIALECT = Dialect(
    name="twilio",
    title="Twilio Verify",
    documentation="https://www.twilio.com/docs/verify/api",
    authenticate=(by_basic_password,),
    errors=ERRORS,
    refuse=refuse,
    challenge='Basic realm="Twilio API"',
)
