"""Infobip 2FA: `Authorization: App <key>`, JSON bodies, refusals as a service exception.

https://www.infobip.com/docs/api/platform/2fa
"""

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from catalogue.errors import DomainError, Error
from compat.dialect import Answer, Dialect, by_scheme


class Row(NamedTuple):
    status: int
    message_id: str
    text: str = ""  # where our own sentence says less, or nothing that concerns its clients


BAD, CONFLICT = Row(400, "BAD_REQUEST"), Row(409, "CONFLICT")
FORBIDDEN, TOO_MANY = Row(403, "FORBIDDEN"), Row(429, "TOO_MANY_REQUESTS")
ERRORS: Mapping[Error, Row] = {
    Error.INVALID_API_KEY: Row(401, "UNAUTHORIZED", "Invalid login details"),
    Error.INSUFFICIENT_TOKENS: Row(403, "FORBIDDEN", "The balance is too low; top it up"),
    Error.FORBIDDEN: FORBIDDEN,
    Error.HTTPS_REQUIRED: FORBIDDEN,
    Error.NOT_FOUND: Row(404, "NOT_FOUND"),
    Error.METHOD_NOT_ALLOWED: Row(405, "METHOD_NOT_ALLOWED"),
    Error.REQUEST_TIMEOUT: Row(408, "REQUEST_TIMEOUT"),
    Error.REQUEST_IN_PROGRESS: CONFLICT,
    Error.PERSON_BUSY: CONFLICT,
    Error.UNSUPPORTED_MEDIA_TYPE: Row(415, "UNSUPPORTED_MEDIA_TYPE"),
    Error.INVALID_INPUT: BAD,
    Error.INVALID_PHONE: BAD,
    Error.COUNTRY_NOT_ALLOWED: BAD,
    Error.RECIPIENT_UNREACHABLE: BAD,
    Error.CHANNEL_UNAVAILABLE: BAD,
    Error.LINK_NOT_SUPPORTED: BAD,
    Error.URL_NOT_ALLOWED: BAD,
    Error.ALIAS_TAKEN: BAD,
    Error.IDEMPOTENCY_MISMATCH: BAD,
    Error.CHALLENGE_REQUIRED: Row(403, "FORBIDDEN", "Blocked by the protection against pumping"),
    Error.CODE_INVALID: BAD,  # this and the next four are answers of `verify`
    Error.CODE_EXPIRED: BAD,
    Error.CODE_USED: BAD,
    Error.CODE_NOT_FOUND: BAD,
    Error.BINDING_MISMATCH: BAD,
    Error.RESEND_TOO_SOON: TOO_MANY,
    Error.SEND_LIMIT: TOO_MANY,
    Error.TOO_MANY_ATTEMPTS: TOO_MANY,
    Error.RATE_LIMITED: TOO_MANY,
    Error.INTERNAL_ERROR: Row(500, "GENERAL_ERROR"),
    Error.DELIVERY_FAILED: Row(502, "GENERAL_ERROR"),
    Error.UNAVAILABLE: Row(503, "SERVICE_UNAVAILABLE"),
}


def refuse(error: DomainError, _request_id: str) -> Answer:
    row = ERRORS[error.error]
    faults = {name: [str(text) for text in texts] for name, texts in (error.errors or {}).items()}
    exception: dict[str, Any] = {"messageId": row.message_id, "text": row.text or error.words[0]}
    if faults:
        exception["validationErrors"] = faults
    return Answer(row.status, {"requestError": {"serviceException": exception}})


def derived(what: str, company_id: int, mode: str, purpose: str) -> str:
    """An id in Infobip's form, the same for every key of the purpose. No secret: the key is."""
    text = f"infobip:{what}:{company_id}:{mode}:{purpose}"
    return hashlib.sha256(text.encode()).hexdigest()[:32].upper()


def _facts(company_id: int, mode: str, purpose: str) -> Mapping[str, str]:
    key = (company_id, mode, purpose)
    return {
        "applicationId": derived("application", *key),
        "messageId": derived("message 6", *key),  # of six digits
    }


DIALECT = Dialect(
    name="infobip",
    title="Infobip 2FA",
    documentation="https://www.infobip.com/docs/api/platform/2fa",
    authenticate=(by_scheme("App"),),
    errors=ERRORS,
    refuse=refuse,
    challenge="App",
    facts=_facts,
)
