"""A bot of MAX: the options of an account, texts and setup."""

import secrets
import ssl

import orjson
from django.utils.translation import gettext_lazy as _

from catalogue.account_options import Option
from channels.providers.declaration import (
    ACCOUNT_FAULT,
    ADDRESS,
    BOT_OPTIONS,
    NO_CONTACT,
    OPEN_THE_BOT,
    TOO_FAST,
    SetupStep,
    Snippet,
    Vendor,
    texts,
)

URL = "https://platform-api2.max.ru"
UPDATE_TYPES = ("message_created", "bot_started", "bot_stopped", "dialog_removed")


def _authorities(path: str) -> str:
    """Reads the authorities at start: an unreadable file would fail every message."""
    try:
        if path:
            ssl.create_default_context(cafile=path)
    except (OSError, ssl.SSLError):
        raise ValueError(f"must be a file of certificates in PEM, which {path} is not") from None
    return path


OPTIONS = (
    Option(
        "token", _("Token of the bot"), is_secret=True, simulated=lambda: secrets.token_urlsafe(48)
    ),
    *BOT_OPTIONS,
    Option("ca_file", read=_authorities),
)
_GONE = ("chat.denied", "chat.not.found", "dialog.not.found")
FAILURES = texts(
    (["chat.denied"], _("The person has stopped the bot or removed the chat.")),
    (["chat.not.found", "dialog.not.found"], _("The person has no chat with the bot.")),
    (["no_contact"], NO_CONTACT),
    (["verify.token"], ACCOUNT_FAULT),
    (["http_429", "too.many.requests"], TOO_FAST),
)
ADVICE = dict.fromkeys((*_GONE, "no_contact"), OPEN_THE_BOT)
REMEDIES = {
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

_SUBSCRIBE = (
    f'curl {URL}/subscriptions --cacert "$MAX_BOT_CA_FILE" -H "Authorization: $MAX_BOT_TOKEN" '
    "-H 'Content-Type: application/json' "
    '-d \'{{"url":"{hook_url}","secret":"\'"$MAX_BOT_SECRET"\'","update_types":\''
    f"'{orjson.dumps(UPDATE_TYPES).decode()}}}}}'"
)
STEPS = (
    SetupStep(
        "business.max.ru → Чат-боты",
        _(
            "Create the bot for a verified organisation, and wait for its moderation; its name "
            "without @ goes into the settings too."
        ),
        ("token", "username"),
    ),
    SetupStep(
        "gosuslugi.ru/crt",
        _(
            "MAX has a certificate of the Russian ministry's authority: install its root "
            "certificate in PEM on every machine."
        ),
        ("ca_file",),
    ),
    SetupStep(
        "Bot API → POST /subscriptions",
        _(
            "Choose a secret of 5 to 256 letters, digits, _ and -, and give it to MAX once, with "
            "the address: HTTPS on port 443."
        ),
        ("secret_token",),
        (ADDRESS, Snippet(_("Subscribe"), _SUBSCRIBE)),
    ),
)
# A person shares a contact with one bot, and only this bot can write to them.
VENDOR = Vendor(
    name="max_bot",
    title="MAX Bot",
    position=70,
    class_name="MaxBot",
    options=OPTIONS,
    console="https://business.max.ru",
    steps=STEPS,
    url=URL,
    has_further_accounts=False,
    max_per_second=30,
    simulated="max",
    failures=FAILURES,
    advice=ADVICE,
    checks={"secret": _("the webhook's secret is set")},
    remedies=REMEDIES,
)
