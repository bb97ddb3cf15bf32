"""Prelude Verify v2: a bearer key, JSON bodies, errors with a code.

https://docs.prelude.so/introduction/errors lists the codes. Clients retry 408, 409, 429 and 5xx
by themselves, after `Retry-After`, unless `x-should-retry` says otherwise.
"""

from catalogue.errors import DomainError, Error
from compat.dialect import Dialect, Response, Row, by_bearer, complete

ELSEWHERE = Row(400, "channel_not_enabled_in_region")
WRONG_CODE = Row(400, "impossible_code")  # never written: a check responds with its status
ERRORS = complete(
    {
        Error.INVALID_API_KEY: Row(401, "invalid_api_key"),
        Error.INSUFFICIENT_TOKENS: Row(400, "insufficient_balance", "The balance is too low"),
        Error.FORBIDDEN: Row(403, "suspended_account"),
        Error.HTTPS_REQUIRED: Row(403, "invalid_request"),
        Error.NOT_FOUND: Row(404, "invalid_request", "This service does not have this call"),
        Error.METHOD_NOT_ALLOWED: Row(405, "invalid_request"),
        Error.REQUEST_TIMEOUT: Row(408, "invalid_request"),
        Error.REQUEST_IN_PROGRESS: Row(409, "invalid_request"),
        Error.INVALID_INPUT: Row(400, "invalid_request"),
        Error.INVALID_PHONE: Row(400, "invalid_phone_number"),
        Error.COUNTRY_NOT_ALLOWED: Row(400, "unsupported_country"),
        Error.RECIPIENT_UNREACHABLE: ELSEWHERE,
        Error.CHANNEL_UNAVAILABLE: ELSEWHERE,
        Error.URL_NOT_ALLOWED: Row(400, "invalid_callback_url"),
        Error.CHALLENGE_REQUIRED: Row(400, "blocked"),
        Error.CODE_INVALID: WRONG_CODE,
        Error.CODE_NOT_FOUND: WRONG_CODE,
        Error.RESEND_TOO_SOON: Row(429, "too_many_attempts"),
        Error.SEND_LIMIT: Row(429, "spending_limit_exceeded"),
        Error.TOO_MANY_ATTEMPTS: Row(429, "too_many_checks"),
        Error.RATE_LIMITED: Row(429, "too_many_attempts"),
        Error.INTERNAL_ERROR: Row(500, "internal"),
        Error.DELIVERY_FAILED: Row(502, "internal"),
        Error.UNAVAILABLE: Row(503, "internal"),
    }
)
# Errors that clients may retry: no code was checked or sent.
RETRYABLE = {
    Error.REQUEST_TIMEOUT,
    Error.REQUEST_IN_PROGRESS,
    Error.RATE_LIMITED,
    Error.UNAVAILABLE,
}
CODE_OF_FIELD = {
    "target.value": "invalid_phone_number",
    "metadata.correlation_id": "invalid_correlation_id",
    "options.code_size": "invalid_code_size",
    "options.custom_code": "invalid_custom_code",
    "options.app_realm.platform": "invalid_app_realm_platform",
}
# Errors with codes of their own; some are Prelude's codes for accounts without the feature.
REFUSALS = {
    "email_verification_not_allowed": ("target.type", "Codes go only to phone numbers"),
    "invalid_sender_id": ("options.sender_id", "The operator of this service sets the sender"),
    "invalid_callback_url": ("options.callback_url", "Add an endpoint on this host in the cabinet"),
    "custom_size_conflict": ("options.custom_code", "Give custom_code or code_size, not both"),
    "invalid_template_id": ("options.template_id", "The only template here is prelude:psd2"),
    "invalid_template_variables": ("options.variables", "Give amount, currency and recipient"),
    "invalid_app_realm": ("options.app_realm", "Give both platform and value"),
    "invalid_app_realm_value": ("options.app_realm.value", "Set it in the cabinet first: Texts"),
    "channel_not_enabled_in_region": ("options", "This method or channel is not available"),
    "invalid_request": ("options", "Give channels or preferred_channel, not both"),
}
TYPES = {400: "bad_request", 401: "unauthorized", 403: "forbidden", 404: "not_found"}


def refusal_of(code: str) -> DomainError:
    param, message = REFUSALS[code]
    return DomainError(Error.INVALID_INPUT, errors={param: [message]}, prelude=code)


def refuse(error: DomainError, request_id: str) -> Response:
    row = ERRORS[error.error]
    param = (
        "target.value" if error.error is Error.INVALID_PHONE else next(iter(error.errors or ()), "")
    )
    body = {
        "code": error.extra.get("prelude") or CODE_OF_FIELD.get(param, row.code),
        "message": row.message or str(error.texts[0]),
        "type": TYPES.get(row.status, "error"),
        "request_id": request_id,
    }
    if param:
        body["param"] = param
    return Response(row.status, body, {"x-should-retry": str(error.error in RETRYABLE).lower()})


DIALECT = Dialect(
    name="prelude",
    title="Prelude",
    documentation="https://docs.prelude.so/verify/v2/documentation/introduction",
    authenticate=(by_bearer,),
    errors=ERRORS,
    refuse=refuse,
)
