"""Twilio's Programmable Messaging: the options of an account, texts and setup."""

import secrets

from django.utils.translation import gettext_lazy as _

from catalogue.account_options import Option
from channels.providers.declaration import (
    ACCOUNT_FAULT,
    ADDRESS,
    BAD_NUMBER,
    BUSY,
    OTHER_CHANNEL,
    TOO_FAST,
    SetupStep,
    Vendor,
    texts,
)

OPTIONS = (
    Option("account_sid", _("Account SID"), simulated=lambda: f"AC{secrets.token_hex(16)}"),
    Option("auth_token", _("Auth token"), is_secret=True, simulated=lambda: secrets.token_hex(16)),
    Option(
        "sender",
        _("Sender: a number, a name or a messaging service"),
        variable="FROM",
        simulated="+15005550006",
    ),
)
FAILURES = texts(
    (("21211", "21217", "21265", "21266", "30005"), BAD_NUMBER),
    (("21610",), _("The person answered STOP and gets no more SMS.")),
    (("21614", "21635", "30006"), _("A landline, or a number that cannot receive SMS.")),
    (("30003",), _("The phone is off or out of reach.")),
    (("30007",), _("The carrier filtered the message as unwanted.")),
    (("21408",), _("Sending to this country is not enabled.")),
    (("20003", "20005", "20006", "20008", "20010", "20404", "21608", "30002"), ACCOUNT_FAULT),
    (("21210", "21212", "21267", "21601", "21603", "21606", "21607", "21609"), ACCOUNT_FAULT),
    (("21657", "21659", "21660", "21661", "21709", "21612"), ACCOUNT_FAULT),
    (("21701", "21702", "21703", "21704", "21705"), ACCOUNT_FAULT),
    (("30018", "30024", "30032", "30033", "30034", "30035", "30040", "30042"), ACCOUNT_FAULT),
    (("14107", "20429", "21611", "30001", "30022", "30023", "30027"), TOO_FAST),
    (("30017", "30410"), BUSY),
    (("30008", "30009"), _("The operator did not say why.")),
)
ALERTS = texts(
    (("21408",), _("Switch the country on in Twilio: Messaging, Settings, Geo permissions.")),
    (
        ("21612", "21212", "21606", "21657", "21659", "21660", "21661", "21709"),
        _("The sender (TWILIO_FROM) cannot be used for this: choose another in Twilio."),
    ),
    (("21703", "21704"), _("The messaging service has no sender for this country: add one.")),
    (("30032",), _("The toll-free number is not verified: Twilio asks for that.")),
    (("30034",), _("The sender is not registered for the USA (A2P 10DLC).")),
    (("30002",), _("Twilio has suspended the account: write to its support.")),
)
ADVICE = texts(
    (("21610",), _("To get messages again, the person has to send START to the sender.")),
    (("21614", "21635", "30006"), OTHER_CHANNEL),
    (("21211",), _("Ask the person to check the number: no carrier recognises it.")),
)

CHECKS = {
    "trial": _("the account is not a trial one"),
    "service": _("senders of the messaging service"),
    "countries": _("the countries it may send to"),
}
REMEDIES = {
    "trial": _("Upgrade the account: a trial one sends to verified phones only (21608)."),
    "balance": _("Top up in Twilio Console, Billing, and turn auto-recharge on."),
    "sender": _(
        "TWILIO_FROM must be an SMS-capable number of this account, a name that the country takes, "
        "or a messaging service (MG…)."
    ),
    "service": _("Add a sender: Twilio Console, Messaging, Services, the service, Sender Pool."),
    "countries": _(
        "Tick the countries: Twilio Console, Messaging, Settings, Geo permissions. Without it "
        "Twilio refuses with 21408."
    ),
}

STEPS = (
    SetupStep(
        "Twilio Console → Account Dashboard → Account Info",
        _("Copy the account's SID and its auth token, which also signs the receipts."),
        ("account_sid", "auth_token"),
    ),
    SetupStep(
        "Admin → Account billing → Upgrade; Auto-recharge",
        _("Upgrade the account: a trial one sends to verified phones only."),
    ),
    SetupStep(
        "Phone Numbers → Buy a number; Messaging → Services → Sender Pool",
        _(
            "Get a sender that the country takes: a number with its plus, a name where names are "
            "allowed, or a messaging service (MG…) with senders in its pool."
        ),
        ("sender",),
    ),
    SetupStep(
        "Messaging → Settings → Geo permissions",
        _("Tick every country that you send to. A new account has only its own."),
    ),
    SetupStep(
        "Phone Numbers → Active numbers → Messaging → A message comes in",
        _(
            "For STOP: Webhook, the address below, HTTP POST. Receipts need nothing, for each "
            "message names the same address."
        ),
        copies=(ADDRESS,),
    ),
)
VENDOR = Vendor(
    name="twilio",
    title="Twilio",
    position=50,
    class_name="Twilio",
    options=OPTIONS,
    console="https://console.twilio.com/",
    steps=STEPS,
    required="auth_token",
    url="https://api.twilio.com",
    takes_callback_url=True,
    simulated="sms",
    failures=FAILURES,
    alerts=ALERTS,
    advice=ADVICE,
    checks=CHECKS,
    remedies=REMEDIES,
)
