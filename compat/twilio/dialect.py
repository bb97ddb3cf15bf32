"""Twilio Verify v2: its ids, its enumerations, and how it writes errors.

https://www.twilio.com/docs/verify/api, error codes: https://www.twilio.com/docs/api/errors

Ids are derived from ours: `VE` and the digits of a verification's id, `VL` and those of a
message's; a service is a company's codes of one purpose in one mode.
"""

import re
from uuid import UUID

from django.utils.translation import gettext

from catalogue.errors import DomainError, Error
from channels.models import Message
from channels.routing import landlines
from compat.dialect import Dialect, Response, Row, by_basic_password, complete, derived_id, limit_of
from otp.verifications import State

ERRORS = complete(
    {
        Error.INVALID_API_KEY: Row(401, 20003, "Authenticate"),
        Error.INSUFFICIENT_TOKENS: Row(403, 20003, "Permission Denied: the balance is too low"),
        Error.FORBIDDEN: Row(403, 20003, "Permission Denied"),
        Error.NOT_FOUND: Row(404, 20404, "The requested resource was not found"),
        Error.METHOD_NOT_ALLOWED: Row(405, 20004, "Method not allowed"),
        Error.REQUEST_TIMEOUT: Row(408, 20408),
        Error.REQUEST_IN_PROGRESS: Row(409, 20409),
        Error.UNSUPPORTED_MEDIA_TYPE: Row(
            415, 20415, "Send the body as application/x-www-form-urlencoded, uncompressed"
        ),
        Error.INVALID_INPUT: Row(400, 60200, "Invalid parameter"),
        Error.COUNTRY_NOT_ALLOWED: Row(403, 60605, "Verification delivery attempt blocked"),
        Error.CHANNEL_UNAVAILABLE: Row(400, 60223, "Delivery channel disabled"),
        Error.CHALLENGE_REQUIRED: Row(403, 60410, "Verification delivery attempt blocked"),
        Error.RESEND_TOO_SOON: Row(429, 60212, "Too many concurrent requests for phone number"),
        Error.SEND_LIMIT: Row(429, 60203, "Max send attempts reached"),
        Error.TOO_MANY_ATTEMPTS: Row(429, 60202, "Max check attempts reached"),
        Error.RATE_LIMITED: Row(429, 20429, "Too many requests"),
        Error.INTERNAL_ERROR: Row(500, 20500),
        Error.UNAVAILABLE: Row(503, 20503),
    }
)
CHANNELS = {"sms": "sms", "whatsapp": "whatsapp"}  # the others are not in Twilio's enumeration
STATUS = {
    State.PENDING: "pending",
    State.VERIFIED: "approved",
    State.EXPIRED: "expired",
    State.CANCELLED: "canceled",
    State.SUPERSEDED: "expired",
    State.EXHAUSTED: "max_attempts_reached",
}
MESSAGE_STATUS = {
    Message.State.QUEUED: "queued",
    Message.State.SENT: "sent",
    Message.State.DELIVERED: "delivered",
    Message.State.FAILED: "undelivered",
    Message.State.EXPIRED: "undelivered",
}
LANDLINE = Row(403, 60205, "SMS is not supported by landline phone number")
# Errors for which Twilio's message covers several reasons; ours, added to it, names the reason.
EXPLAINED = {Error.CODE_EXPIRED, Error.CODE_USED, Error.CODE_NOT_FOUND}
_NAMES = {"phone": "To", "code": "CustomCode", "locale": "Locale", "channel": "Channel"}


def refuse(error: DomainError, _request_id: str) -> Response:
    row = ERRORS[Error.CHALLENGE_REQUIRED if limit_of(error) == "guard" else error.error]
    if error.message is landlines.LANDLINE:
        row = LANDLINE
    detail = _detail(error)
    if not detail and error.retry_after is not None:  # in the text too: clients drop the header
        detail = gettext("wait %(seconds)d s") % {"seconds": error.retry_after}
    message = ": ".join(part for part in (row.message, detail) if part)
    info = f"https://www.twilio.com/docs/errors/{row.code}"
    body = {"code": row.code, "message": message, "more_info": info, "status": row.status}
    return Response(row.status, body)


def _detail(error: DomainError) -> str:
    """The invalid parameters with the reasons, as in `Invalid parameter: To`."""
    if error.errors:
        names = ", ".join(_NAMES.get(name, name) for name in error.errors)
        return f"{names} ({'; '.join(error.texts)})"
    if error.error is Error.RECIPIENT_UNREACHABLE and error.message is not landlines.LANDLINE:
        return f"To ({error.texts[0]})"
    is_plain = error.message is error.error.message and error.error not in EXPLAINED
    return "" if is_plain and ERRORS[error.error].message else error.texts[0]


def sid(prefix: str, value: UUID) -> str:
    return f"{prefix}{value.hex}"


def parse_sid(prefix: str, text: str) -> UUID | None:
    match = re.fullmatch(rf"{prefix}([0-9a-fA-F]{{32}})", text)
    return UUID(match[1]) if match else None


def service_sid(company_id: int, mode: str, purpose: str) -> str:
    return f"VA{derived_id('twilio', company_id, mode, purpose)}"


DIALECT = Dialect(
    name="twilio",
    title="Twilio Verify",
    documentation="https://www.twilio.com/docs/verify/api",
    authenticate=(by_basic_password,),
    errors=ERRORS,
    refuse=refuse,
    challenge='Basic realm="Twilio API"',
    identifiers=lambda *key: {"ServiceSid": service_sid(*key)},
)
