"""Vonage Verify v2: how it presents keys and writes errors (RFC 7807).

https://developer.vonage.com/en/api/verify.v2, errors: https://developer.vonage.com/en/api-errors
"""

from typing import Any, NamedTuple

from accounts.keys import signed_tokens
from accounts.keys.principal import Principal
from catalogue.errors import DomainError, Error
from compat.dialect import (
    Dialect,
    Headers,
    Response,
    by_basic_password,
    complete,
    credentials,
    is_last_guess,
    limit_of,
)

NEXMO = "https://developer.nexmo.com"
VONAGE = "https://developer.vonage.com"


class Row(NamedTuple):
    """A problem (RFC 7807); without `detail`, our message is used."""

    status: int
    anchor: str
    title: str
    detail: str = ""
    site: str = VONAGE  # the site that Vonage itself and its SDKs' fixtures use

    @property
    def type(self) -> str:
        return f"{self.site}/api-errors#{self.anchor}"


PARAMS = Row(
    422, "invalid-params", "Invalid params", "The value of one or more parameters is invalid"
)
FORBIDDEN = Row(403, "forbidden", "Forbidden")
NOT_FOUND = Row(404, "not-found", "Not Found")
CONFLICT = Row(409, "conflict", "Conflict", site=NEXMO)
THROTTLED = Row(429, "throttled", "Rate Limit Hit", "Please wait, then retry your request")
ENDED = Row(
    410,
    "gone",
    "Invalid Code",
    "An incorrect code has been provided too many times. Workflow terminated.",
    NEXMO,
)
FAILED = Row(500, "internal-error", "Internal Error", "There was an error processing your request")

ERRORS = complete(
    {
        Error.INVALID_API_KEY: Row(
            401, "unauthorized", "Unauthorized", "You did not provide correct credentials."
        ),
        Error.INSUFFICIENT_TOKENS: Row(
            402,
            "low-balance",
            "Low balance",
            "This request could not be performed due to your account balance being low.",
        ),
        Error.FORBIDDEN: FORBIDDEN,
        Error.NOT_FOUND: NOT_FOUND,
        Error.METHOD_NOT_ALLOWED: Row(405, "method-not-allowed", "Method Not Allowed"),
        Error.REQUEST_TIMEOUT: Row(408, "request-timeout", "Request Timeout"),
        Error.REQUEST_IN_PROGRESS: CONFLICT,
        Error.UNSUPPORTED_MEDIA_TYPE: Row(415, "unsupported-media-type", "Unsupported Media Type"),
        Error.INVALID_INPUT: PARAMS,
        Error.CODE_INVALID: Row(
            400,
            "bad-request",
            "Invalid Code",
            "The code you provided does not match the expected value.",
            NEXMO,
        ),
        Error.CHALLENGE_REQUIRED: FORBIDDEN._replace(
            detail="Blocked by the protection against pumping"
        ),
        Error.RESEND_TOO_SOON: THROTTLED,
        Error.SEND_LIMIT: THROTTLED._replace(detail=""),  # our message names the limit
        Error.RATE_LIMITED: THROTTLED,
        Error.TOO_MANY_ATTEMPTS: ENDED,
        Error.INTERNAL_ERROR: FAILED,
        Error.DELIVERY_FAILED: FAILED._replace(status=502),
        Error.UNAVAILABLE: FAILED._replace(status=503),
    }
)
# The parameter at fault, for errors that do not name one.
DEFAULT_PARAMETERS = {Error.CHANNEL_UNAVAILABLE: "workflow", Error.INVALID_INPUT: "body"}


class ProblemError(DomainError):
    """A problem that only Vonage has; `members` are added to its body."""

    def __init__(
        self,
        row: Row,
        error: Error = Error.INVALID_INPUT,
        *,
        retry_after: int | None = None,
        **members: Any,
    ) -> None:
        super().__init__(error, retry_after=retry_after)
        self.row = row
        self.members = members


def refuse(error: DomainError, request_id: str) -> Response:
    row = error.row if isinstance(error, ProblemError) else _row_of(error)
    body: dict[str, Any] = {
        "type": row.type,
        "title": row.title,
        "detail": row.detail or " ".join(error.texts),
        "instance": request_id,
    }
    if row is PARAMS:
        body["invalid_parameters"] = _parameters(error)
    elif isinstance(error, ProblemError):
        body |= error.members
    return Response(row.status, body, content_type="application/problem+json")


def _row_of(error: DomainError) -> Row:
    if is_last_guess(error):
        return ENDED
    return FORBIDDEN if limit_of(error) == "guard" else ERRORS[error.error]


def _parameters(error: DomainError) -> list[dict[str, str]]:
    if not error.errors:
        name = DEFAULT_PARAMETERS.get(error.error, "workflow[0].to")
        return [{"name": name, "reason": " ".join(error.texts)}]
    return [
        {"name": "workflow[0].to" if name == "phone" else name, "reason": str(reason)}
        for name, reasons in error.errors.items()
        for reason in reasons
    ]


def by_jwt(headers: Headers) -> Principal | None:
    return signed_tokens.find_signed(credentials(headers, "Bearer"))


DIALECT = Dialect(
    name="vonage",
    title="Vonage Verify",
    documentation="https://developer.vonage.com/en/api/verify.v2",
    authenticate=(by_basic_password, by_jwt),
    errors=ERRORS,
    refuse=refuse,
    challenge='Basic realm="Vonage", Bearer',
)
