"""Every API error: code, HTTP status, message, and the response body."""

from collections.abc import Mapping
from enum import Enum
from http import HTTPStatus
from typing import Any, Self

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from catalogue.texts import StrOrPromise


class Error(Enum):
    """The public error codes, each with its HTTP status and its message."""

    status: HTTPStatus
    message: StrOrPromise

    def __new__(cls, status: int, message: StrOrPromise) -> Self:
        member = object.__new__(cls)
        # Enum hashes values, and a lazy text has no hash before Django's apps are ready.
        member._value_ = len(cls.__members__)
        member.status, member.message = HTTPStatus(status), message
        return member

    INVALID_API_KEY = (401, _("Invalid API key"))
    # One text in every language, by the contract.
    INSUFFICIENT_TOKENS = (402, "Недостаточно токенов")
    FORBIDDEN = (403, _("This key is not allowed to do that"))
    HTTPS_REQUIRED = (
        403,
        _("Requests are accepted over HTTPS only; replace a key that was sent without it"),
    )
    NOT_FOUND = (404, _("Not found"))
    METHOD_NOT_ALLOWED = (405, _("Method not allowed"))
    REQUEST_TIMEOUT = (408, _("The request body took too long to arrive; send the request again"))
    REQUEST_IN_PROGRESS = (409, _("A request with this Idempotency-Key is still running"))
    PERSON_BUSY = (409, _("A message or a code for this number is still in progress"))
    UNSUPPORTED_MEDIA_TYPE = (415, _("Send the body as application/json"))
    INVALID_INPUT = (422, _("Check the request fields"))
    INVALID_PHONE = (422, _("Invalid phone number; check the digits and the country code"))
    COUNTRY_NOT_ALLOWED = (422, _("Sending to this country is not allowed"))
    RECIPIENT_UNREACHABLE = (422, _("The recipient cannot be reached by this channel"))
    CHANNEL_UNAVAILABLE = (422, _("The channel is not available now; try another one"))
    LINK_NOT_SUPPORTED = (422, _("This channel cannot carry a link"))
    URL_NOT_ALLOWED = (422, _("This URL cannot be shortened"))
    ALIAS_TAKEN = (422, _("This alias is already taken; choose another"))
    IDEMPOTENCY_MISMATCH = (422, _("This Idempotency-Key was used with a different request"))
    CHALLENGE_REQUIRED = (
        422,
        _(
            "Too many codes to similar numbers go unused: solve `challenge` on the page and "
            "send the request again with the result as `challenge`"
        ),
    )
    CODE_INVALID = (422, _("Wrong code"))
    CODE_EXPIRED = (422, _("The code has expired; request a new one"))
    CODE_USED = (422, _("The code has already been used"))
    CODE_NOT_FOUND = (422, _("No code was sent to this number"))
    RESEND_TOO_SOON = (429, _("A code was just sent; try again a little later"))
    SEND_LIMIT = (429, _("The sending limit for this number is reached"))
    TOO_MANY_ATTEMPTS = (429, _("Too many attempts; ask for a new code later"))
    RATE_LIMITED = (429, _("Too many requests"))
    INTERNAL_ERROR = (500, _("Internal server error"))
    DELIVERY_FAILED = (502, _("The message could not be delivered"))
    UNAVAILABLE = (503, _("The service is temporarily unavailable; try again"))

    @property
    def code(self) -> str:
        return self.name.lower()

    @property
    def is_translated(self) -> bool:
        return isinstance(self.message, Promise)


class DomainError(Exception):
    """An error of the API. `extra` is added to the response body."""

    def __init__(
        self,
        error: Error,
        *,
        message: StrOrPromise | None = None,
        errors: Mapping[str, list[StrOrPromise]] | None = None,
        retry_after: int | None = None,
        **extra: Any,
    ) -> None:
        super().__init__(error.code)
        self.error = error
        self.message = message
        self.errors = errors
        self.retry_after = retry_after
        self.extra = extra

    def body(self, *, request_id: str) -> dict[str, Any]:
        """The response body, its texts rendered in the active language."""
        message = self.error.message if self.message is None else self.message
        body = {"success": False, "code": self.error.code, "message": str(message), **self.extra}
        if self.errors:
            body["errors"] = {
                field: [str(text) for text in texts] for field, texts in self.errors.items()
            }
        if self.retry_after is not None:
            body["retry_after"] = self.retry_after
        return body | {"request_id": request_id}

    @property
    def words(self) -> list[str]:
        """What a page says of it: about each field, else about the whole."""
        fields = [str(text) for texts in (self.errors or {}).values() for text in texts]
        return fields or [str(self.error.message if self.message is None else self.message)]


class AfterEffectError(DomainError):
    """An error after a side effect: stored as the response to a repeated call."""


def invalid_input(**errors: StrOrPromise) -> DomainError:
    """A 422 that names the invalid fields."""
    return DomainError(Error.INVALID_INPUT, errors={name: [text] for name, text in errors.items()})
