"""What each refusal means, what its reader can do, and what it has beside `code` and `message`."""

from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from api.calls import Field
from catalogue.errors import Error
from catalogue.texts import StrOrPromise


@dataclass(frozen=True, slots=True)
class Advice:
    when: StrOrPromise
    do: StrOrPromise
    retry: bool = False  # the same request may succeed later
    extra: tuple[str, ...] = ()  # fields of its own in the body
    sometimes: tuple[str, ...] = ()  # fields it has where they help


ADVICE: dict[Error, Advice] = {
    Error.INVALID_API_KEY: Advice(
        _("The key is missing, unknown, revoked or expired. The answer is the same in each case."),
        _(
            "Send the header `Authorization: Bearer` with the whole key; the API keys page shows "
            "whether it is active."
        ),
    ),
    Error.INSUFFICIENT_TOKENS: Advice(
        _("The balance holds fewer tokens than the send costs. Nothing was sent."),
        _(
            "Top up; `required` is the price of the send, `available` the balance. Shortening "
            "links and verifying codes work at zero too."
        ),
        extra=("required", "available"),
    ),
    Error.FORBIDDEN: Advice(
        _(
            "The key is valid but not allowed to do this: a scope is missing, the IP address is "
            "not allowed, the company is suspended or not yet approved, or the service's operator "
            "disabled the link."
        ),
        _(
            "`message` says which. To change scopes or addresses, create a new key. `balance` and "
            "`top_up` work while the maker of the key is a member whose role sees money."
        ),
    ),
    Error.HTTPS_REQUIRED: Advice(
        _("The request used `http://`. Nothing was done. A service in development accepts it."),
        _("Use `https://`. Revoke the key that was sent unencrypted and create a new one."),
    ),
    Error.NOT_FOUND: Advice(
        _(
            "There is no such path, or the object does not exist, belongs to another company or "
            "to the other mode."
        ),
        _("Check the path and the id: a test key does not see live objects, nor the reverse."),
    ),
    Error.METHOD_NOT_ALLOWED: Advice(
        _("The path does not support this method."),
        _("The header `Allow` lists the methods."),
    ),
    Error.REQUEST_TIMEOUT: Advice(
        _("The request body did not arrive in time. Nothing was done."),
        _("Send the request again; we closed the connection."),
        retry=True,
    ),
    Error.REQUEST_IN_PROGRESS: Advice(
        _("The first request with this `Idempotency-Key` is still running."),
        _("Repeat the same request after `Retry-After` seconds to get the first one's answer."),
        retry=True,
        extra=("retry_after",),
    ),
    Error.PERSON_BUSY: Advice(
        _(
            "A message to this number is in progress, a code can still be entered, or wrong codes "
            "of the last 24 hours limit guessing. Nothing was erased."
        ),
        _("Repeat the request after `retry_after` seconds."),
        retry=True,
        extra=("retry_after",),
    ),
    Error.UNSUPPORTED_MEDIA_TYPE: Advice(
        _("The body was not sent as JSON."),
        _("Add the header `Content-Type: application/json`."),
    ),
    Error.INVALID_INPUT: Advice(
        _("Fields are invalid, or the body is not JSON."),
        _(
            "`errors` lists at once all fields that are missing, of a wrong type or out of bounds; "
            "correct them. Only then are the number, the URL and the alias judged, whose refusals "
            "have codes of their own."
        ),
        extra=("errors",),
    ),
    Error.INVALID_PHONE: Advice(
        _("The number is not valid: the length or the country code is wrong."),
        _("Ask the user to check it. No attempt and no token was spent."),
        extra=("errors",),
    ),
    Error.COUNTRY_NOT_ALLOWED: Advice(
        _("The number's country is not on the company's list."),
        _(
            "Add the country in the cabinet: Settings → Allowed countries; it takes effect within "
            "two seconds. A new company sends to its own country only. Test keys are not "
            "restricted."
        ),
        extra=("country",),
    ),
    Error.RECIPIENT_UNREACHABLE: Advice(
        _(
            "The recipient is not there on this channel: no account, unsubscribed or blocked. "
            "Nothing was charged."
        ),
        _(
            "Try another channel: this send no longer counts towards the limits. With `action_url` "
            "the Telegram bot may not write to this person yet: show them the link, where they "
            "press Start and share their number."
        ),
        extra=("id", "channel"),
        sometimes=("action_url",),
    ),
    Error.CHANNEL_UNAVAILABLE: Advice(
        _("The channel is not set up, or is off because its provider is failing."),
        _("Choose another channel; `GET /channels` lists those available."),
        retry=True,
    ),
    Error.CHALLENGE_REQUIRED: Advice(
        _(
            "The protection against SMS pumping asks for a proof of work: codes to similar "
            "numbers, or for this address or device, are delivered and not entered. Nothing was "
            "charged."
        ),
        _(
            "Solve `challenge` on the person's page with the ALTCHA widget and send the request "
            "again with the result as `challenge`, under another Idempotency-Key."
        ),
        extra=("challenge",),
    ),
    Error.LINK_NOT_SUPPORTED: Advice(
        _("The channel you named cannot carry a link."),
        _("Leave `channel` out and the service chooses a capable one, or name another."),
    ),
    Error.URL_NOT_ALLOWED: Advice(
        _(
            "The URL is well formed but cannot be shortened: an IP address, a local name, another "
            "shortener, look-alike letters, a blocked site, or a site that is not on the company's "
            "list of allowed sites."
        ),
        _("`message` says why; use a URL of an ordinary site."),
        extra=("errors",),
    ),
    Error.ALIAS_TAKEN: Advice(
        _(
            "The alias is taken: case does not matter, and names of deleted links are free after "
            "90 days."
        ),
        _("Choose another, or leave `alias` out."),
    ),
    Error.IDEMPOTENCY_MISMATCH: Advice(
        _("This `Idempotency-Key` was used before with another body."),
        _("Use a new key for each new action."),
    ),
    Error.CODE_INVALID: Advice(
        _("The code is wrong. An attempt was spent."),
        _("Let the user try again; `attempts_left` says how many attempts remain."),
        extra=("attempts_left",),
    ),
    Error.CODE_EXPIRED: Advice(
        _("The code has expired."),
        _("Send a new code."),
    ),
    Error.CODE_USED: Advice(
        _("The code was accepted before; it does not work twice."),
        _("If the user is already in, do nothing; otherwise send a new code."),
    ),
    Error.CODE_NOT_FOUND: Advice(
        _("No code with this purpose was sent to this number."),
        _("Compare `phone` and `purpose` with the request that sent the code."),
    ),
    Error.RESEND_TOO_SOON: Advice(
        _("Too little time has passed since the last send to this number."),
        _("Show a countdown of `retry_after` seconds. The earlier code still works."),
        retry=True,
        extra=("retry_after",),
    ),
    Error.SEND_LIMIT: Advice(
        _(
            "Too many messages were sent to this number, or the company's daily budget, its "
            "hourly budget for the country, or the daily limit of this key, is used up. "
            "`limit.kind` says which."
        ),
        _(
            "Try again after `retry_after` seconds; the numbers are on the page about limits. An "
            "owner can raise budgets and limits at once: Settings → Budgets. Without `retry_after` "
            "it is below the price of one message: it must be raised, waiting will not help. "
            "If the sends are not yours, revoke the key."
        ),
        retry=True,
        extra=("limit", "retry_after"),
    ),
    Error.TOO_MANY_ATTEMPTS: Advice(
        _("The code was entered wrongly too often. Not even the right one works now."),
        _("Send a new code after `retry_after` seconds."),
        retry=True,
        extra=("retry_after",),
    ),
    Error.RATE_LIMITED: Advice(
        _("This key made too many requests."),
        _("Wait for `Retry-After` seconds; the header `RateLimit` shows what is left."),
        retry=True,
        extra=("retry_after",),
    ),
    Error.INTERNAL_ERROR: Advice(
        _("An error on our side."),
        _("Repeat with the same `Idempotency-Key`. If it persists, send us the `request_id`."),
        retry=True,
    ),
    Error.DELIVERY_FAILED: Advice(
        _("The channel refused the message. The tokens are returned."),
        _("Try another channel. `GET /messages/{id}` has the details."),
        extra=("id", "channel"),
    ),
    Error.UNAVAILABLE: Advice(
        _("A required part of the service is not responding."),
        _("Repeat after `Retry-After` seconds with the same `Idempotency-Key`."),
        retry=True,
        extra=("retry_after",),
    ),
}


EXTRAS = (
    Field(
        "errors",
        {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
        _("The errors of each invalid field, by the field's name."),
        {"phone": ["…"]},
    ),
    Field(
        "retry_after",
        {"type": "integer", "minimum": 1},
        _("The number of seconds to wait before retrying."),
        42,
    ),
    Field(
        "challenge",
        {"type": "object", "additionalProperties": True},
        _("A proof of work for ALTCHA's widget: `parameters` and `signature`."),
        {"parameters": {"algorithm": "PBKDF2/SHA-256"}, "signature": "5f2c…"},
    ),
    Field(
        "limit",
        {"type": "object"},
        _("The limit that was reached."),
        {
            "kind": "budget_country_hour",
            "country": "SO",
            "tokens": 800,
            "resets_at": "2026-11-22T15:00:00Z",
        },
        fields=(
            Field(
                "kind",
                {"type": "string"},
                _(
                    "`phone`: the company's limit for this number; `phone_all_companies`: the "
                    "limit for this number across all companies; `budget_day`: the company's daily "
                    "budget; `budget_country_hour`: the company's hourly budget for a country; "
                    "`key_day`: the limit of this API key for a day; `guard`: the protection "
                    "against SMS pumping."
                ),
                "budget_country_hour",
            ),
            Field(
                "country",
                {"type": "string"},
                _("The country of the budget, as an ISO 3166 code."),
                "SO",
                required=False,
            ),
            Field(
                "key",
                {"type": "string"},
                _("The start and the end of the API key whose limit it is."),
                "kv_live_3fK9…x7Qa",
                required=False,
            ),
            Field(
                "scope",
                {"type": "string"},
                _(
                    "For `guard`: what the blocked sends have in common, such as `prefix-4`, "
                    "numbers that differ in the last four digits."
                ),
                "prefix-4",
                required=False,
            ),
            Field(
                "value",
                {"type": "string"},
                _("For `guard`: the country, or the digits that the numbers share."),
                "+25261765",
                required=False,
            ),
            Field(
                "tokens",
                {"type": "integer", "minimum": 0},
                _("The budget or limit, in tokens."),
                800,
                required=False,
            ),
            Field(
                "resets_at",
                {"type": "string", "format": "date-time"},
                _(
                    "When the budget or limit resets; absent if it is below the price of one "
                    "message."
                ),
                "2026-11-22T15:00:00Z",
                required=False,
            ),
        ),
    ),
    Field(
        "country",
        {"type": "string"},
        _("The country of the phone number, as an ISO 3166 code."),
        "SO",
    ),
    Field(
        "required",
        {"type": "integer"},
        _("Tokens required to send the message."),
        16,
    ),
    Field(
        "available",
        {"type": "integer"},
        _("Tokens available in the balance."),
        3,
    ),
    Field(
        "attempts_left",
        {"type": "integer", "minimum": 0},
        _("The number of attempts left."),
        4,
    ),
    Field(
        "id",
        {"type": "string"},
        _("The id of the message that was not delivered."),
        "msg_0192f0c1a6d87b3e9c4f5a6b7c8d9e0f",
    ),
    Field(
        "channel",
        {"type": "string"},
        _("The channel the message was sent through."),
        "telegram",
    ),
    Field(
        "action_url",
        {"type": "string", "format": "uri"},
        _("The link that the recipient has to open before the bot can write to them."),
        "https://t.me/kvitok_bot?start=contact",
    ),
)
