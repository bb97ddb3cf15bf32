"""The fields of error responses besides `code` and `message`."""

from django.utils.translation import gettext_lazy as _

from api.calls import Field, integer, mapping, text, time

EXTRAS = (
    Field(
        "errors",
        {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
        _("The errors of each invalid field, by the field's name."),
        {"phone": ["…"]},
    ),
    Field("retry_after", integer(1), _("The number of seconds to wait before retrying."), 42),
    Field(
        "challenge",
        {"type": "object", "additionalProperties": True},
        _("A proof of work for ALTCHA's widget: `parameters` and `signature`."),
        {"parameters": {"algorithm": "PBKDF2/SHA-256"}, "signature": "5f2c…"},
    ),
    Field(
        "limit",
        mapping(),
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
                text(),
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
                text(),
                _("The country of the budget, as an ISO 3166 code."),
                "SO",
                required=False,
            ),
            Field(
                "key",
                text(),
                _("The start and the end of the API key whose limit it is."),
                "kv_live_3fK9…x7Qa",
                required=False,
            ),
            Field(
                "scope",
                text(),
                _(
                    "For `guard`: what the blocked sends have in common, such as `prefix-4`, "
                    "numbers that differ in the last four digits."
                ),
                "prefix-4",
                required=False,
            ),
            Field(
                "value",
                text(),
                _("For `guard`: the country, or the digits that the numbers share."),
                "+25261765",
                required=False,
            ),
            Field("tokens", integer(0), _("The budget or limit, in tokens."), 800, required=False),
            Field(
                "resets_at",
                time(),
                _(
                    "When the budget or limit resets; absent if it is below the price of one "
                    "message."
                ),
                "2026-11-22T15:00:00Z",
                required=False,
            ),
        ),
    ),
    Field("country", text(), _("The country of the phone number, as an ISO 3166 code."), "SO"),
    Field("required", integer(), _("Tokens required to send the message."), 16),
    Field("available", integer(), _("Tokens available in the balance."), 3),
    Field("attempts_left", integer(0), _("The number of attempts left."), 4),
    Field(
        "id",
        text(),
        _("The id of the message that was not delivered."),
        "msg_0192f0c1a6d87b3e9c4f5a6b7c8d9e0f",
    ),
    Field("channel", text(), _("The channel the message was sent through."), "telegram"),
    Field(
        "action_url",
        text(format="uri"),
        _("The link that the recipient has to open before the bot can write to them."),
        "https://t.me/kvitok_bot?start=contact",
    ),
)
