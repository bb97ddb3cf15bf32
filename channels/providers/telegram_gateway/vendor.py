"""Telegram Gateway: the options of an account, texts and setup."""

import secrets

from django.utils.translation import gettext_lazy as _

from catalogue.account_options import Option
from channels.providers.declaration import (
    ACCOUNT_FAULT,
    ADDRESS,
    BAD_NUMBER,
    NO_ACCOUNT_THERE,
    SetupStep,
    Vendor,
    texts,
)

OPTIONS = (
    Option("token", _("API token"), is_secret=True, simulated=lambda: secrets.token_urlsafe(24)),
)
FAILURES = texts(
    (("PHONE_NUMBER_INVALID",), BAD_NUMBER),
    (("PHONE_NUMBER_NOT_FOUND", "PHONE_NUMBER_NOT_AVAILABLE"), NO_ACCOUNT_THERE),
    (("ACCESS_TOKEN_INVALID", "ACCESS_TOKEN_REQUIRED", "BALANCE_NOT_ENOUGH"), ACCOUNT_FAULT),
    (("SENDER_USERNAME_INVALID", "SENDER_NOT_VERIFIED", "SENDER_NOT_OWNED"), ACCOUNT_FAULT),
    (("MESSAGE_ALREADY_SENT",), _("Telegram says it has already sent this code.")),
)
ALERTS = {"balance_low": _("The Telegram Gateway balance is running low: add funds.")}

REMEDIES = {
    "balance": _(
        "See the balance at gateway.telegram.org and add funds. Telegram reports it only "
        "after a paid message; when it runs low, operators get an e-mail."
    )
}

STEPS = (
    SetupStep(
        "Telegram Gateway → Account → API token",
        _("Sign in with your phone and copy the token."),
        ("token",),
    ),
    SetupStep(
        "Telegram Gateway → Account → Add funds",
        _("Add funds. Codes to the phone you signed in with are free, so use it to try."),
    ),
    SetupStep(
        "Telegram Gateway",
        _(
            "There is no address to set: each message names it. Telegram must be able to reach it "
            "from the internet."
        ),
        copies=(ADDRESS,),
    ),
)
VENDOR = Vendor(
    name="telegram_gateway",
    title="Telegram Gateway",
    position=20,
    class_name="TelegramGateway",
    options=OPTIONS,
    console="https://gateway.telegram.org/account",
    steps=STEPS,
    url="https://gatewayapi.telegram.org",
    takes_callback_url=True,
    simulated="telegram",
    failures=FAILURES,
    alerts=ALERTS,
    remedies=REMEDIES,
)
