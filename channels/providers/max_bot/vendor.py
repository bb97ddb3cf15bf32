"""A bot of MAX: the options of an account, texts and setup."""

import secrets
import ssl

import orjson
from django.utils.translation import gettext_lazy as _

from catalogue.options import Option, one_of
from channels.providers.declaration import (
    ACCOUNT_FAULT,
    TOO_FAST,
    Guide,
    GuideFacts,
    SetupStep,
    Snippet,
    Vendor,
    texts,
)

URL = "https://platform-api2.max.ru"
UPDATE_TYPES = ("message_created", "bot_started", "bot_stopped", "dialog_removed")


def _authorities(path: str) -> str:
    """Read at start: a file that cannot be would fail every message."""
    try:
        if path:
            ssl.create_default_context(cafile=path)
    except (OSError, ssl.SSLError):
        raise ValueError(f"must be a file of certificates in PEM, which {path} is not") from None
    return path


OPTIONS = (
    Option(
        "token",
        _("Token of the bot"),
        is_secret=True,
        simulated=lambda: secrets.token_urlsafe(48),
    ),
    Option(
        "username",
        _("Name of the bot, without @"),
        read=lambda text: text.removeprefix("@"),
        simulated="simulator_bot",
    ),
    Option(
        "secret_token",
        _("Secret token of the webhook"),
        variable="SECRET",
        is_ours=True,
        simulated=lambda: secrets.token_urlsafe(24),
    ),
    Option("delivered_on", default="accept", read=one_of("accept", "click", "never")),
    Option("ca_file", read=_authorities),
)
_GONE = ("chat.denied", "chat.not.found", "dialog.not.found")
FAILURES = texts(
    (["chat.denied"], _("The person has stopped the bot or removed the chat.")),
    (["chat.not.found", "dialog.not.found"], _("The person has no chat with the bot.")),
    (["no_contact"], _("The person has not shared this number with the bot.")),
    (["verify.token"], ACCOUNT_FAULT),
    (["http_429", "too.many.requests"], TOO_FAST),
)
_OPEN_THE_BOT = _(
    "Ask the person to open the bot and share their number, or send by another channel."
)
ADVICE = dict.fromkeys((*_GONE, "no_contact"), _OPEN_THE_BOT)
CURES = {
    "secret": _(
        "Set MAX_BOT_SECRET and run the subscription command: without it no update is accepted."
    ),
    "webhook_address": _(
        "Run the subscription command of this page, or the doctor, which renews the subscription."
    ),
    "webhook_fields": _(
        "Run the subscription command of this page: its update_types name what is missing."
    ),
}


def _guide(facts: GuideFacts) -> Guide:
    types = orjson.dumps(UPDATE_TYPES).decode()
    command = (
        f'curl {URL}/subscriptions --cacert "$MAX_BOT_CA_FILE" -H "Authorization: $MAX_BOT_TOKEN" '
        "-H 'Content-Type: application/json' -d "
        f'\'{{"url":"{facts.hook_url}","secret":"\'"$MAX_BOT_SECRET"\'","update_types":{types}}}\''
    )
    return Guide(
        "https://business.max.ru",
        (
            SetupStep(
                "business.max.ru → Чат-боты",
                _(
                    "Create the bot for a verified organisation, and wait for its moderation; its "
                    "name without @ goes into the settings too."
                ),
                ("token", "username"),
            ),
            SetupStep(
                "gosuslugi.ru/crt",
                _(
                    "MAX has a certificate of the Russian ministry's authority: put its root "
                    "certificate in PEM on every machine."
                ),
                ("ca_file",),
            ),
            SetupStep(
                "Bot API → POST /subscriptions",
                _(
                    "Choose a secret of 5 to 256 letters, digits, _ and -, and give it to MAX "
                    "once, with the address: HTTPS on port 443."
                ),
                ("secret_token",),
                (facts.address, Snippet(_("Subscribe"), command)),
            ),
        ),
    )


# A person shares a contact with one bot, and no other can write to them.
VENDOR = Vendor(
    name="max_bot",
    title="MAX Bot",
    position=70,
    class_name="MaxBot",
    options=OPTIONS,
    guide=_guide,
    url=URL,
    has_further_accounts=False,
    max_per_second=30,
    simulated="max",
    failures=FAILURES,
    advice=ADVICE,
    checks={"secret": _("the webhook's secret is set")},
    cures=CURES,
)
