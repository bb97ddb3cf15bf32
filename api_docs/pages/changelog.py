"""Changes for clients of the API, newest first: the source of the page with the changelog."""

from datetime import date

from django.utils.translation import gettext_lazy as _

from catalogue.texts import StrOrPromise

CHANGES: dict[date, tuple[StrOrPromise, ...]] = {
    date(2026, 11, 30): (
        _(
            "A STOP also ends messages that are on their way: none is tried again or by another "
            "channel. Those that no provider has yet end as `failed` with "
            "`recipient_unreachable`; `fallback` names it `blocked`."
        ),
        _(
            "`Idempotency-Key`: no call keeps a refusal of fields, and a `POST /otp/{id}/next` "
            "that was answered with the step of another call repeats that answer."
        ),
        _(
            "`POST /otp/{id}/next` takes `ip`, `device_id`, `trusted` and `challenge`, its message "
            "has the link of the one before, and a call during another one takes no second step."
        ),
        _(
            "Twilio's and Prelude's clients get 429 for another payment within the pause between "
            "sends, no longer the verification of the first payment."
        ),
        _(
            "A link of an identity server that was not delivered is refused, and sent again after "
            "the cool-down, as is a custom code that expired on its way."
        ),
        _(
            "`POST /otp/send` refuses `{link}` in `text`, and a negative amount or a blank payee "
            "in `bind`. An empty `limit` of a list counts as absent, as other empty parameters do."
        ),
    ),
    date(2026, 11, 29): (
        _(
            "Messages and their webhooks show `locale`, and in `door` what a message came by, if "
            "not by this API: `twilio`, say, or `supabase`; so does `otp.verified`. Exports have "
            "both as their last columns."
        ),
        _(
            "`POST /otp/send` takes `callback_url`, on the host of an enabled webhook: events of "
            "this message and `otp.verified` go there as well."
        ),
        _(
            "`POST /otp/send` takes `channels`, `patience`, `code_length`, `expires_in`, `text`, "
            "`bind`, `reference` and `metadata`; `POST /otp/verify` takes `bind`. Messages, "
            "verifications and their webhooks show `reference` and `metadata`. "
            "`GET /otp/{id}/evidence` tells who agreed to what."
        ),
        _(
            "A key of a new kind, for the client of another service: those of Twilio Verify, "
            "Vonage Verify, Prelude, Infobip 2FA and CAMARA's `one-time-password-sms` work under "
            "`/compat` after one line, which the page “Change one line” shows."
        ),
        _(
            "Identity servers, such as Supabase Auth, Keycloak and Zitadel, have their own codes "
            "delivered: the page “Identity servers” tells how each is connected."
        ),
        _(
            "`POST /otp/send` takes `code`, a custom code: delivered, kept encrypted until "
            "then, reported as entered by `POST /otp/feedback`. Codes of this kind may be checked "
            "by `POST /otp/verify` too."
        ),
        _(
            "“Send it by SMS instead” works at once: the first send by a `channel` that a live "
            "code was not sent by yet is not held by the cool-down, and `POST /otp/{id}/next` "
            "takes the next channel. Decisions about channels have the reasons `requested` and "
            "`taken`."
        ),
        _(
            "`POST /otp/send` answers `verification`; `POST /otp/verify` takes it as `id` in place "
            "of `phone`. `GET /otp`, `GET /otp/{id}` and `DELETE /otp/{id}` list, show and cancel "
            "verifications."
        ),
        _(
            "`locale` takes any tag of BCP 47 (`kk`, `de-AT`, `pt_BR`), here and in rules of the "
            "policy; texts in 16 languages, the nearest is used. Answers of sends and `GET "
            "/messages/{id}` show it."
        ),
        _(
            "`GET /lookup/{phone}` tells a number's country, its type and the channels that reach "
            "it, as far as that is known without sending."
        ),
        _(
            "More shorteners of others are refused with `url_not_allowed`. The erasure of a person "
            "closes links whose `alias` holds the phone, and frees the alias."
        ),
    ),
    date(2026, 11, 28): (
        _("`PUT /policy` requires a live key: the rules hold for live messages, too."),
        _(
            "`clicks` of a link and `link.clicked` count only what is certainly a person's "
            "browser, by its `User-Agent` and headers; every other client counts in `scanners`, "
            "and proves no delivery."
        ),
        _(
            "Test numbers that end with 0015 and 0016 play `challenge_required` and a refusal by "
            "the protection; those with 0005 and 0012 no longer refuse links."
        ),
        _(
            "Unknown fields of a request are named in `warnings`, with the field that was probably "
            "meant; `Kvitok-Strict: 1` refuses them. An empty `purpose` counts as absent."
        ),
        _(
            "The OpenAPI schema has the same tags in both languages, and events a tag of their "
            "own: generate clients anew, their modules are called `otp`, `messages` and so on."
        ),
        _(
            "Webhooks obey `Retry-After` of 429 and 503, up to an hour. When a secret is replaced "
            "twice within a day, every old one signs for its whole 24 hours."
        ),
    ),
    date(2026, 11, 26): (
        _(
            "Smart routing: rules of the policy have `smart`, and `GET /messages/{id}` says in "
            "`route` how the channels were chosen."
        ),
        _(
            "Protection against SMS pumping: `POST /otp/send` takes `ip`, `device_id`, `trusted` "
            "and `challenge`, and may answer `challenge_required`, or `send_limit` with "
            "`limit.kind` `guard`. Companies that were here before hold nothing back unless they "
            "switch it on. Webhooks have the event `guard.triggered`."
        ),
    ),
    date(2026, 11, 25): (
        _(
            "`GET /channels?country=KZ` returns the prices for a country: an SMS may have a price "
            "of its own there."
        ),
        _("A key may have a limit of tokens a day: `send_limit` with `limit.kind` `key_day`."),
        _(
            "`GET` and `PUT /policy` set channels by country and purpose, `GET /policy/preview` "
            "shows them for a number; keys made earlier lack their scope, `policy`."
        ),
    ),
    date(2026, 11, 24): (
        _("`GET /documents` lists closing documents and advance invoices, as PDF and XML."),
    ),
    date(2026, 11, 23): (
        _(
            "`GET /seals` returns the hashes by which a statement is proved; the statement's CSV "
            "file has a new last column, the line that is hashed."
        ),
        _(
            "`GET /persons/export` and `POST /persons/erase` export and erase the data of a phone "
            "number; keys made earlier lack their scope, `persons`."
        ),
        _(
            "A page of a filtered list may have fewer items than `limit`, even none, while "
            "`has_more` is `true`: read on by `next_cursor` until it is `false`."
        ),
    ),
    date(2026, 11, 22): (
        _(
            "Sends and verifications return `phone`, the number as the service read it. Without a "
            "plus, ten digits that begin with 9 get `+7` for companies in Russia and Kazakhstan."
        ),
        _("While the status is `queued`, `message` says that the code is queued, not sent."),
        _(
            "An unknown query parameter of a list is refused with 422 `invalid_input`. Before, it "
            "was ignored and the whole list returned."
        ),
        _(
            "In the event `link.clicked`, `clicks` are all clicks of the link and `new_clicks` "
            "those of this event."
        ),
        _(
            "A new company sends to its own country until it adds others, within daily and "
            "per-country budgets: `country_not_allowed`, `send_limit` with the field `limit`."
        ),
        _(
            "Wrong codes are counted per phone, not per purpose; beyond the cap one code an hour "
            "is checked. The error for an exhausted code says when to request a new one."
        ),
        _(
            "Test numbers 0010–0014: queued, `send_limit`, `too_many_attempts`, "
            "`channel_unavailable`, `country_not_allowed`."
        ),
        _(
            "Addresses in a link's `text` are checked like `url`; aliases such as `signin` and "
            "`support` are reserved."
        ),
        _(
            "The schema is OpenAPI 3.1 with named components and webhook events; the `code` of "
            "errors is an open set. Response headers are described."
        ),
        _(
            "`DELETE /batches/{id}` stops a batch of links and `POST /batches/{id}/release` "
            "releases it. The former paths, `/links/batches/…`, still work."
        ),
        _(
            "The data of every event has `test`; `balance.low` and `top_up.paid` did not have "
            "it before."
        ),
        _(
            "The documentation has a search, pages in Markdown (`/docs/send-code.md`) and "
            "`/llms.txt`; an address chooses the language too: `?lang=en`."
        ),
    ),
    date(2026, 11, 20): (
        _(
            "The first version: codes, short links, history, balance and top-up, webhooks, test "
            "keys."
        ),
    ),
}
