"""A bot of Telegram: the options of an account, texts and setup."""

import secrets

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
)

OPTIONS = (
    Option(
        "token",
        _("Token of the bot"),
        is_secret=True,
        simulated=lambda: f"{secrets.randbelow(9 * 10**9) + 10**9}:{secrets.token_hex(17)}x",
    ),
    *BOT_OPTIONS,
)
FAILURES = {
    "400": _("The bot cannot write to this chat."),
    "401": ACCOUNT_FAULT,
    "403": _("The person has blocked the bot or left Telegram."),
    "no_contact": NO_CONTACT,
    "404": ACCOUNT_FAULT,
    "429": TOO_FAST,
}
ADVICE = {
    "403": _("Send by another channel, or ask the person to unblock the bot."),
    "no_contact": OPEN_THE_BOT,
}

CHECKS = {
    "webhook_calls": _("the webhook's last calls"),
    "secret": _("the webhook's secret is set"),
}
REMEDIES = {
    "secret": _(
        "Set TELEGRAM_BOT_SECRET and give it to setWebhook: without it no update is accepted."
    ),
    "webhook_address": _("Run the setWebhook command of this page."),
    "webhook_fields": _(
        "Run the setWebhook command of this page: its allowed_updates name what is missing."
    ),
    "webhook_calls": _(
        "Telegram cannot deliver updates to us. Fix what it names; they will then arrive."
    ),
}

_SET_WEBHOOK = (
    "curl https://api.telegram.org/bot$TELEGRAM_BOT_TOKEN/setWebhook "
    "-d url={hook_url} -d secret_token=$TELEGRAM_BOT_SECRET "
    '-d allowed_updates=\'["message","my_chat_member"]\''
)
STEPS = (
    SetupStep(
        "@BotFather → /newbot",
        _("Create the bot; its name without @ goes into the settings too."),
        ("token", "username"),
    ),
    SetupStep("@BotFather → /setjoingroups → Disable", _("The bot works in private chats only.")),
    SetupStep(
        "Bot API → setWebhook",
        _(
            "Choose a secret of 1 to 256 letters, digits, _ and -, and give it to Telegram once, "
            "with the address."
        ),
        ("secret_token",),
        (ADDRESS, Snippet(_("Set the webhook"), _SET_WEBHOOK)),
    ),
)
# A person shares a contact with one bot, and only this bot can write to them.
VENDOR = Vendor(
    name="telegram_bot",
    title="Telegram Bot",
    position=30,
    class_name="TelegramBot",
    options=OPTIONS,
    console="https://t.me/BotFather",
    steps=STEPS,
    url="https://api.telegram.org",
    has_further_accounts=False,
    simulated="telegram",
    failures=FAILURES,
    advice=ADVICE,
    checks=CHECKS,
    remedies=REMEDIES,
)
