"""CAMARA one-time-password-sms r3.2 (v1.1.1): how it presents keys and writes errors.

https://github.com/camaraproject/OTPValidation; statuses missing there are in Commonalities 0.6.
"""

import re

from accounts.keys import api_keys, issued_tokens
from accounts.keys.principal import Principal
from catalogue.errors import DomainError, Error
from channels.recipients.blocked_phones import BlockedPhoneError
from compat.dialect import (
    Dialect,
    Headers,
    Response,
    Row,
    complete,
    credentials,
    is_last_guess,
    limit_of,
)

API = "ONE_TIME_PASSWORD_SMS"
FAILED = Row(
    400,
    f"{API}.VERIFICATION_FAILED",
    "The maximum number of attempts for this authenticationId was exceeded without providing a "
    "valid OTP",
)
OVER = Row(400, f"{API}.VERIFICATION_EXPIRED", "The authenticationId is no longer valid")
TOO_MANY_CODES = Row(
    403,
    f"{API}.MAX_OTP_CODES_EXCEEDED",
    "Too many OTPs have been requested for this MSISDN. Try later.",
)
NOT_ALLOWED = Row(403, f"{API}.PHONE_NUMBER_NOT_ALLOWED")
BLOCKED = Row(403, f"{API}.PHONE_NUMBER_BLOCKED")
QUOTA = Row(429, "QUOTA_EXCEEDED")

ERRORS = complete(
    {
        Error.INVALID_API_KEY: Row(
            401,
            "UNAUTHENTICATED",
            "Request not authenticated due to missing, invalid, or expired credentials.",
        ),
        Error.INSUFFICIENT_TOKENS: QUOTA._replace(message="Out of resource quota: the balance."),
        Error.FORBIDDEN: Row(403, "PERMISSION_DENIED"),
        Error.NOT_FOUND: Row(404, "NOT_FOUND", "The specified resource is not found."),
        Error.METHOD_NOT_ALLOWED: Row(405, "METHOD_NOT_ALLOWED"),
        Error.REQUEST_TIMEOUT: Row(408, "TIMEOUT"),
        Error.REQUEST_IN_PROGRESS: Row(409, "ABORTED"),
        Error.UNSUPPORTED_MEDIA_TYPE: Row(415, "UNSUPPORTED_MEDIA_TYPE"),
        Error.INVALID_INPUT: Row(400, "INVALID_ARGUMENT"),
        Error.INVALID_PHONE: NOT_ALLOWED,  # well-formed, but not a number that gets messages
        Error.COUNTRY_NOT_ALLOWED: NOT_ALLOWED,
        Error.RECIPIENT_UNREACHABLE: NOT_ALLOWED,
        Error.CHANNEL_UNAVAILABLE: NOT_ALLOWED,
        Error.CHALLENGE_REQUIRED: NOT_ALLOWED._replace(
            message="Too many codes to similar numbers."
        ),
        Error.CODE_INVALID: Row(
            400, f"{API}.INVALID_OTP", "The provided OTP is not valid for this authenticationId"
        ),
        Error.CODE_EXPIRED: OVER,
        Error.CODE_USED: OVER,
        Error.SEND_LIMIT: TOO_MANY_CODES,
        Error.TOO_MANY_ATTEMPTS: FAILED,
        Error.RATE_LIMITED: Row(429, "TOO_MANY_REQUESTS", "Rate limit reached."),
        Error.INTERNAL_ERROR: Row(500, "INTERNAL"),
        Error.DELIVERY_FAILED: Row(502, "BAD_GATEWAY"),
        Error.UNAVAILABLE: Row(503, "UNAVAILABLE"),
    }
)
COMPANY_LIMITS = {"budget_day", "budget_country_hour", "key_day"}
CORRELATOR = re.compile(r"[a-zA-Z0-9\-_:;./<>{}]{0,256}")


def row_of(error: DomainError) -> Row:
    if isinstance(error, BlockedPhoneError):
        return BLOCKED
    if is_last_guess(error):
        return FAILED
    limit = limit_of(error)
    if limit == "guard":
        return NOT_ALLOWED
    return QUOTA if limit in COMPANY_LIMITS else ERRORS[error.error]


def refuse(error: DomainError, _request_id: str) -> Response:
    row = row_of(error)
    faults = "; ".join(
        f"{'phoneNumber' if name == 'phone' else name}: {texts[0]}"
        for name, texts in (error.errors or {}).items()
    )
    message = faults or row.message or error.texts[0]
    return Response(row.status, {"status": row.status, "code": row.code, "message": message})


def echoed(headers: Headers) -> dict[str, str]:
    correlator = str(headers.get("HTTP_X_CORRELATOR", ""))
    return {"x-correlator": correlator} if CORRELATOR.fullmatch(correlator) and correlator else {}


def by_token(headers: Headers) -> Principal | None:
    """The principal of the bearer token: a key, or a token from the token endpoint."""
    token = credentials(headers, "Bearer")
    return api_keys.find(token) or issued_tokens.find_issued(token)


DIALECT = Dialect(
    name="camara",
    title="CAMARA one-time-password-sms",
    documentation="https://github.com/camaraproject/OTPValidation",
    authenticate=(by_token,),
    errors=ERRORS,
    refuse=refuse,
    open_paths=frozenset({"/oauth2/token"}),
    echoed=echoed,
)
