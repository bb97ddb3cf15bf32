"""Infobip 2FA: `Authorization: App <key>`, JSON bodies, errors as a service exception.

https://www.infobip.com/docs/api/platform/2fa
"""

from collections.abc import Mapping
from typing import Any

from catalogue.errors import DomainError, Error
from compat.dialect import Dialect, Response, Row, by_scheme, complete, derived_id, limit_of

BAD = Row(400, "BAD_REQUEST")
ERRORS = complete(
    {
        Error.INVALID_API_KEY: Row(401, "UNAUTHORIZED", "Invalid login details"),
        Error.INSUFFICIENT_TOKENS: Row(403, "FORBIDDEN", "The balance is too low; top it up"),
        Error.FORBIDDEN: Row(403, "FORBIDDEN"),
        Error.NOT_FOUND: Row(404, "NOT_FOUND"),
        Error.METHOD_NOT_ALLOWED: Row(405, "METHOD_NOT_ALLOWED"),
        Error.REQUEST_TIMEOUT: Row(408, "REQUEST_TIMEOUT"),
        Error.REQUEST_IN_PROGRESS: Row(409, "CONFLICT"),
        Error.UNSUPPORTED_MEDIA_TYPE: Row(415, "UNSUPPORTED_MEDIA_TYPE"),
        Error.INVALID_INPUT: BAD,
        Error.CHALLENGE_REQUIRED: Row(
            403, "FORBIDDEN", "Blocked by the protection against pumping"
        ),
        Error.CODE_NOT_FOUND: BAD,  # like the other errors of codes, a response of `verify`
        Error.RATE_LIMITED: Row(429, "TOO_MANY_REQUESTS"),
        Error.INTERNAL_ERROR: Row(500, "GENERAL_ERROR"),
        Error.DELIVERY_FAILED: Row(502, "GENERAL_ERROR"),
        Error.UNAVAILABLE: Row(503, "SERVICE_UNAVAILABLE"),
    }
)


def refuse(error: DomainError, _request_id: str) -> Response:
    row = ERRORS[Error.FORBIDDEN if limit_of(error) == "guard" else error.error]
    faults = {
        "to" if name == "phone" else name: [str(text) for text in texts]
        for name, texts in (error.errors or {}).items()
    }
    exception: dict[str, Any] = {"messageId": row.code, "text": row.message or error.texts[0]}
    if faults:
        exception["validationErrors"] = faults
    return Response(row.status, {"requestError": {"serviceException": exception}})


def infobip_id(name: str, company_id: int, mode: str, purpose: str) -> str:
    """An id in Infobip's format, the same for every key of a purpose."""
    return derived_id("infobip", name, company_id, mode, purpose).upper()


def _identifiers(company_id: int, mode: str, purpose: str) -> Mapping[str, str]:
    key = (company_id, mode, purpose)
    return {
        "applicationId": infobip_id("application", *key),
        "messageId": infobip_id("message 6", *key),  # a template for six digits
    }


DIALECT = Dialect(
    name="infobip",
    title="Infobip 2FA",
    documentation="https://www.infobip.com/docs/api/platform/2fa",
    authenticate=(by_scheme("App"),),
    errors=ERRORS,
    refuse=refuse,
    challenge="App",
    identifiers=_identifiers,
)
