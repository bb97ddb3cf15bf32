"""Every API error: code, HTTP status, message, and the response body."""

from collections.abc import Mapping
from enum import Enum
from http import HTTPStatus
from typing import Any, Self

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from catalogue.texts import StrOrPromise


class Error(Enum):
    """The public error codes. The fields after `message` are documentation."""

    status: HTTPStatus
    message: StrOrPromise
    when: StrOrPromise  # the cases in which it is returned
    remedy: StrOrPromise
    extra_fields: tuple[str, ...]  # additional fields of the body
    optional_fields: tuple[str, ...]  # fields that the body has only in some cases

    def __new__(  # noqa: PLR0917 - a row of the table
        cls,
        status: int,
        message: StrOrPromise,
        when: StrOrPromise,
        remedy: StrOrPromise,
        extra_fields: tuple[str, ...] = (),
        optional_fields: tuple[str, ...] = (),
    ) -> Self:
        member = object.__new__(cls)
        # Enum hashes values, and a lazy text has no hash before Django's apps are ready.
        member._value_ = len(cls.__members__)
        member.status = HTTPStatus(status)
        member.message = message
        member.when = when
        member.remedy = remedy
        member.extra_fields = extra_fields
        member.optional_fields = optional_fields
        return member

    INVALID_API_KEY = (
        401,
        _("Invalid API key"),
        _(
            "The key is missing, unknown, revoked or expired. "
            "The response is the same in each case."
        ),
        _(
            "Send the header `Authorization: Bearer` with the whole key; the API keys page shows "
            "whether it is active."
        ),
    )
    # The API's contract fixes this text in every language.
    INSUFFICIENT_TOKENS = (
        402,
        "Недостаточно токенов",
        _("The balance holds fewer tokens than the send costs. Nothing was sent."),
        _(
            "Top up; `required` is the price of the send, `available` the balance. Shortening "
            "links and verifying codes work at zero too."
        ),
        ("required", "available"),
    )
    FORBIDDEN = (
        403,
        _("This key is not allowed to do that"),
        _(
            "The key is valid but not allowed to do this: a scope is missing, the IP address is "
            "not allowed, the company is suspended or not yet approved, or the service's operator "
            "disabled the link."
        ),
        _(
            "`message` says which. To change scopes or addresses, create a new key. `balance` "
            "and `top_up` work only while the member who created the key has a role that sees "
            "money."
        ),
    )
    HTTPS_REQUIRED = (
        403,
        _("Requests are accepted over HTTPS only; replace a key that was sent without it"),
        _("The request used `http://`. Nothing was done. A service in development accepts it."),
        _("Use `https://`. Revoke the key that was sent unencrypted and create a new one."),
    )
    NOT_FOUND = (
        404,
        _("Not found"),
        _(
            "There is no such path, or the object does not exist, belongs to another company or "
            "to the other mode."
        ),
        _(
            "Check the path and the id: a test key does not see live objects, and a live "
            "key does not see test objects."
        ),
    )
    METHOD_NOT_ALLOWED = (
        405,
        _("Method not allowed"),
        _("The path does not support this method."),
        _("The header `Allow` lists the methods."),
    )
    REQUEST_TIMEOUT = (
        408,
        _("The request body took too long to arrive; send the request again"),
        _("The request body did not arrive in time. Nothing was done."),
        _("Send the request again; we closed the connection."),
    )
    REQUEST_IN_PROGRESS = (
        409,
        _("A request with this Idempotency-Key is still running"),
        _("The first request with this `Idempotency-Key` is still running."),
        _("Repeat the same request after `Retry-After` seconds to get the first one's response."),
        ("retry_after",),
    )
    PERSON_BUSY = (
        409,
        _("A message or a code for this number is still in progress"),
        _(
            "A message to this number is in progress, a code can still be entered, wrong codes of "
            "the last 24 hours limit guessing, or a code that nobody entered was delivered within "
            "two minutes. Nothing was erased."
        ),
        _("Repeat the request after `retry_after` seconds."),
        ("retry_after",),
    )
    UNSUPPORTED_MEDIA_TYPE = (
        415,
        _("Send the body as application/json"),
        _("The body was not sent as JSON."),
        _("Add the header `Content-Type: application/json`."),
    )
    INVALID_INPUT = (
        422,
        _("Check the request fields"),
        _("Fields are invalid, or the body is not JSON."),
        _(
            "`errors` lists all fields that are missing, of the wrong type or out of bounds; "
            "correct them. The number, the URL and the alias are checked after that, with "
            "error codes of their own."
        ),
        ("errors",),
    )
    INVALID_PHONE = (
        422,
        _("Invalid phone number; check the digits and the country code"),
        _("The number is not valid: the length or the country code is wrong."),
        _("Ask the user to check it. No attempt and no token was spent."),
        ("errors",),
    )
    COUNTRY_NOT_ALLOWED = (
        422,
        _("Sending to this country is not allowed"),
        _("The number's country is not on the company's list."),
        _(
            "Add the country in the cabinet: Settings → Allowed countries; it takes effect within "
            "two seconds. A new company sends to its own country only. Test keys are not "
            "restricted."
        ),
        ("country",),
    )
    RECIPIENT_UNREACHABLE = (
        422,
        _("The recipient cannot be reached by this channel"),
        _(
            "The recipient cannot be reached there: they have no account, unsubscribed or "
            "blocked us. Nothing was charged."
        ),
        _(
            "Try another channel: this send no longer counts towards the limits. With `action_url` "
            "the Telegram bot may not write to this person yet: show them the link, where they "
            "press Start and share their number."
        ),
        ("id", "channel"),
        ("action_url",),
    )
    CHANNEL_UNAVAILABLE = (
        422,
        _("The channel is not available now; try another one"),
        _("The channel is not set up, or is off because its provider is failing."),
        _("Choose another channel; `GET /channels` lists those available."),
    )
    LINK_NOT_SUPPORTED = (
        422,
        _("This channel cannot carry a link"),
        _("The channel you named cannot carry a link."),
        _("Leave `channel` out and the service chooses a capable one, or name another."),
    )
    URL_NOT_ALLOWED = (
        422,
        _("This URL cannot be shortened"),
        _(
            "The URL is well formed but cannot be shortened: an IP address, a local name, another "
            "shortener, look-alike letters, a blocked site, or a site that is not on the company's "
            "list of allowed sites."
        ),
        _("`message` says why; use a URL of an ordinary site."),
        ("errors",),
    )
    ALIAS_TAKEN = (
        422,
        _("This alias is already taken; choose another"),
        _(
            "The alias is taken: case does not matter, and names of deleted links are free after "
            "90 days."
        ),
        _("Choose another, or leave `alias` out."),
    )
    IDEMPOTENCY_MISMATCH = (
        422,
        _("This Idempotency-Key was used with a different request"),
        _("This `Idempotency-Key` was used before with another body."),
        _("Use a new key for each new action."),
    )
    CHALLENGE_REQUIRED = (
        422,
        _(
            "Too many codes to similar numbers go unused: solve `challenge` on the page and "
            "send the request again with the result as `challenge`"
        ),
        _(
            "The protection against SMS pumping asks for a proof of work: codes to similar "
            "numbers, or for this address or device, are delivered but not entered. Nothing "
            "was charged."
        ),
        _(
            "Solve `challenge` on the person's page with the ALTCHA widget and send the request "
            "again with the result as `challenge`, under another Idempotency-Key."
        ),
        ("challenge",),
    )
    CODE_INVALID = (
        422,
        _("Wrong code"),
        _("The code is wrong. An attempt was spent."),
        _("Let the user try again; `attempts_left` says how many attempts remain."),
        ("attempts_left",),
    )
    CODE_EXPIRED = (
        422,
        _("The code has expired; request a new one"),
        _("The code has expired."),
        _("Send a new code."),
    )
    CODE_USED = (
        422,
        _("The code has already been used"),
        _("The code was accepted before; it does not work twice."),
        _("If the user is already in, do nothing; otherwise send a new code."),
    )
    CODE_NOT_FOUND = (
        422,
        _("No code was sent to this number"),
        _("No code with this purpose was sent to this number."),
        _("Compare `phone` and `purpose`, or `id`, with the request that sent the code."),
    )
    BINDING_MISMATCH = (
        422,
        _("The code was sent for another payment or document"),
        _(
            "`bind` differs from the one that the code was sent with. The code was not "
            "compared, and no attempt was spent."
        ),
        _("Verify with the same `bind` as the send, or send a new code for what is now agreed to."),
    )
    RESEND_TOO_SOON = (
        429,
        _("A code was just sent; try again a little later"),
        _("Too little time has passed since the last send to this number."),
        _("Show a countdown of `retry_after` seconds. The earlier code still works."),
        ("retry_after",),
    )
    SEND_LIMIT = (
        429,
        _("The sending limit for this number is reached"),
        _(
            "Too many messages were sent to this number, or the company's daily budget, its "
            "hourly budget for the country, or the daily limit of this key, is used up. "
            "`limit.kind` says which."
        ),
        _(
            "Try again after `retry_after` seconds; the page about limits has the figures. An "
            "owner can raise budgets and limits at once: Settings → Budgets. Without "
            "`retry_after` the budget or limit is below the price of one message: waiting will "
            "not help, raise it. If the sends are not yours, revoke the key."
        ),
        ("limit", "retry_after"),
    )
    TOO_MANY_ATTEMPTS = (
        429,
        _("Too many attempts; ask for a new code later"),
        _("Wrong codes were entered too often. Even the right one does not work now."),
        _("Send a new code after `retry_after` seconds."),
        ("retry_after",),
    )
    RATE_LIMITED = (
        429,
        _("Too many requests"),
        _("This key made too many requests."),
        _("Wait for `Retry-After` seconds; the header `RateLimit` shows what is left."),
        ("retry_after",),
    )
    INTERNAL_ERROR = (
        500,
        _("Internal server error"),
        _("An error on our side."),
        _("Repeat with the same `Idempotency-Key`. If it persists, send us the `request_id`."),
    )
    DELIVERY_FAILED = (
        502,
        _("The message could not be delivered"),
        _("The channel refused the message. The tokens are returned."),
        _("Try another channel. `GET /messages/{id}` has the details."),
        ("id", "channel"),
    )
    UNAVAILABLE = (
        503,
        _("The service is temporarily unavailable; try again"),
        _("A required part of the service is not responding."),
        _("Repeat after `Retry-After` seconds with the same `Idempotency-Key`."),
        ("retry_after",),
    )

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
        self.message = error.message if message is None else message
        self.errors = errors
        self.retry_after = retry_after
        self.extra = extra

    def body(self, *, request_id: str) -> dict[str, Any]:
        """The response body, its texts rendered in the active language."""
        body = {
            "success": False,
            "code": self.error.code,
            "message": str(self.message),
            **self.extra,
        }
        if self.errors:
            body["errors"] = {
                field: [str(text) for text in texts] for field, texts in self.errors.items()
            }
        if self.retry_after is not None:
            body["retry_after"] = self.retry_after
        return body | {"request_id": request_id}

    @property
    def texts(self) -> list[str]:
        """The texts for a page: the fields' texts, or else the message."""
        fields = [str(text) for texts in (self.errors or {}).values() for text in texts]
        return fields or [str(self.message)]


class AfterEffectError(DomainError):
    """An error after a side effect: stored as the response to a repeated call."""


def invalid_input(**errors: StrOrPromise) -> DomainError:
    """A 422 that names the invalid fields."""
    return DomainError(Error.INVALID_INPUT, errors={name: [text] for name, text in errors.items()})
