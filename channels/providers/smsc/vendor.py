"""SMSC: the options of an account, texts and setup."""

import secrets

from django.utils.translation import gettext_lazy as _

from catalogue.account_options import Option, comma_separated
from channels.providers.declaration import (
    ACCOUNT_FAULT,
    ADDRESS,
    BAD_NUMBER,
    OTHER_CHANNEL,
    TOO_FAST,
    SetupStep,
    Snippet,
    Vendor,
    texts,
)

OPTIONS = (
    Option(
        "login",
        _("Login; empty if the password is an API key"),
        is_required=False,
        simulated="demo",
    ),
    Option("password", _("Password"), is_secret=True, simulated=lambda: secrets.token_hex(16)),
    Option("sender", _("Sender's name"), is_required=False),
    Option(
        "callback_secret",
        _("Secret of the callback"),
        is_ours=True,
        simulated=lambda: secrets.token_hex(16),
    ),
    Option("barred_errors", default="252", read=comma_separated),
)
FAILURES = texts(
    (("-3",), _("The provider never got the message.")),
    (("2", "3", "24"), ACCOUNT_FAULT),
    (("4", "9"), TOO_FAST),
    (("6", "23"), _("The provider does not accept this text, sender or number.")),
    (("7", "22"), BAD_NUMBER),
    (("8", "25"), _("The carrier does not deliver to this number.")),
    (("20",), _("The phone cannot be reached, or takes no SMS.")),
)
ALERTS = {
    "6": _("SMSC does not let the sender (SMSC_SENDER) through: have it approved."),
    "24": _("The SMSC balance is used up: top it up."),
}
ADVICE = texts(
    (("8", "25"), OTHER_CHANNEL),
    (("7",), _("Ask the person to check the number: no carrier recognises it.")),
)

CHECKS = {
    "callback_secret": _("the secret of reports is set"),
}
REMEDIES = {
    "balance": _("Top up the balance with SMSC."),
    "sender": _(
        "Have the sender's name approved by SMSC (Senders), or set SMSC_SENDER to an approved one."
    ),
    "callback_secret": _(
        "Set SMSC_CALLBACK_SECRET to the secret given with the handler's address: without it no "
        "report is accepted."
    ),
}

STEPS = (
    SetupStep(
        "Настройки → Пароли и авторизация",
        _(
            "Create a password for the API (or a key, and leave the login empty), and allow this "
            "server's address if the account lists addresses."
        ),
        ("login", "password"),
    ),
    SetupStep(
        "Отправители",
        _("Have the sender's name approved, by each carrier that asks for it."),
        ("sender",),
    ),
    SetupStep("Оплата", _("Top up the balance and set up the low-balance reminder.")),
    SetupStep(
        "Настройки → Обработчик (callback)",
        _("Give the address for statuses, by POST, and a secret of your choice."),
        ("callback_secret",),
        (
            Snippet(ADDRESS.label, "{hook_url}?md5&charset=utf-8"),
            Snippet(_("The same, signed with sha1"), "{hook_url}?sha1&charset=utf-8"),
        ),
    ),
)
VENDOR = Vendor(
    name="smsc",
    title="SMSC",
    position=60,
    class_name="Smsc",
    options=OPTIONS,
    console="https://smsc.ru/",
    steps=STEPS,
    required="password",
    url="https://smsc.ru",
    simulated="sms",
    failures=FAILURES,
    alerts=ALERTS,
    advice=ADVICE,
    checks=CHECKS,
    remedies=REMEDIES,
)
