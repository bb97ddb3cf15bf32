"""Titles and cures of the checks of vendors' accounts."""

from django.utils.translation import gettext_lazy as _

from channels.providers.base import Check
from channels.vendor_accounts.registry import vendor_of
from config.texts import StrOrPromise

TITLES: dict[str, StrOrPromise] = {
    "account": _("the account and its token"),
    "away": _("connection"),
    "bind": _("the bind"),
    "number": _("the phone number"),
    "number_registered": _("the phone number is registered"),
    "number_verified": _("the phone number is verified"),
    "number_quality": _("quality of the phone number"),
    "display_name": _("the display name"),
    "app_secret": _("the app secret is set"),
    "verify_token": _("the verify token is set"),
    "business_account": _("the business account's id is set"),
    "subscribed_app": _("our app is subscribed to the account"),
    "templates": _("message templates"),
    "template": _("a message template"),
    "webhook": _("the webhook"),
    "webhook_address": _("the webhook's address"),
    "webhook_fields": _("what the webhook subscribes to"),
    "webhook_calls": _("the webhook's last calls"),
    "secret": _("the webhook's secret is set"),
    "trial": _("the account is not a trial one"),
    "balance": _("the balance"),
    "sender": _("the sender"),
    "service": _("senders of the messaging service"),
    "countries": _("the countries it may send to"),
    "callback_secret": _("the secret of reports is set"),
}

_COMPARE = _("Compare the account's variables with the vendor's console, then restart the service.")
_RETRY = _("The vendor did not answer. Check its status page, and that this server can reach it.")
_ASK_AGAIN = _("Test again; if it still fails, check it in the vendor's console.")

CURES: dict[tuple[str, str], StrOrPromise] = {
    ("whatsapp_cloud", "number_registered"): _(
        "Register the number: WhatsApp Manager, Phone numbers, the number, or POST to "
        "/PHONE_NUMBER_ID/register with its PIN. It must be Connected."
    ),
    ("whatsapp_cloud", "number_verified"): _(
        "Verify the number by SMS or call: WhatsApp Manager, Phone numbers, the number."
    ),
    ("whatsapp_cloud", "number_quality"): _(
        "People complain about messages from this number. See its Insights in WhatsApp Manager; "
        "until it recovers, Meta may lower its limit."
    ),
    ("whatsapp_cloud", "display_name"): _(
        "Give the number a display name that Meta approves: WhatsApp Manager, Phone numbers, "
        "the number, Profile."
    ),
    ("whatsapp_cloud", "app_secret"): _(
        "Copy the app secret (App settings, Basic) into WHATSAPP_APP_SECRET: without it no "
        "receipt is accepted."
    ),
    ("whatsapp_cloud", "verify_token"): _(
        "Choose a WHATSAPP_VERIFY_TOKEN and give Meta the same: without it the webhook's "
        "address cannot be saved."
    ),
    ("whatsapp_cloud", "business_account"): _(
        "Set WHATSAPP_BUSINESS_ACCOUNT_ID to have the subscription and the templates checked."
    ),
    ("whatsapp_cloud", "subscribed_app"): _(
        "Subscribe the app to the account: POST to /BUSINESS_ACCOUNT_ID/subscribed_apps with the "
        "account's token. Until then Meta sends no receipts."
    ),
    ("whatsapp_cloud", "template"): _(
        "Create the template in this language and wait until Meta approves it: WhatsApp "
        "Manager, Message templates. The names and languages are WHATSAPP_…_TEMPLATE and "
        "WHATSAPP_LANGUAGES."
    ),
    ("whatsapp_cloud", "templates"): _(
        "Give the token whatsapp_business_management, and see that WHATSAPP_BUSINESS_ACCOUNT_ID is "
        "the account of this number."
    ),
    ("whatsapp_cloud", "webhook"): _(
        "Compare WHATSAPP_APP_SECRET with the app secret of the app whose token this is."
    ),
    ("whatsapp_cloud", "webhook_address"): _(
        "Set the callback URL of this page: the app, WhatsApp, Configuration, Webhook, Edit."
    ),
    ("whatsapp_cloud", "webhook_fields"): _(
        "Subscribe to these fields: the app, WhatsApp, Configuration, Webhook fields, Manage."
    ),
    ("telegram_gateway", "balance"): _(
        "See the balance at gateway.telegram.org and add funds. Telegram reports it only "
        "after a paid message; when it runs low, operators get an e-mail."
    ),
    ("telegram_bot", "secret"): _(
        "Set TELEGRAM_BOT_SECRET and give it to setWebhook: without it no update is accepted."
    ),
    ("telegram_bot", "webhook_address"): _("Run the setWebhook command of this page."),
    ("telegram_bot", "webhook_fields"): _(
        "Run the setWebhook command of this page: its allowed_updates name what is missing."
    ),
    ("telegram_bot", "webhook_calls"): _(
        "Telegram cannot deliver updates to us. Fix what it names; they will then arrive."
    ),
    ("twilio", "trial"): _(
        "Upgrade the account: a trial one sends to verified phones only (21608)."
    ),
    ("twilio", "balance"): _("Top up in Twilio Console, Billing, and turn auto-recharge on."),
    ("twilio", "sender"): _(
        "TWILIO_FROM must be an SMS-capable number of this account, a name that the country takes, "
        "or a messaging service (MG…)."
    ),
    ("twilio", "service"): _(
        "Add a sender: Twilio Console, Messaging, Services, the service, Sender Pool."
    ),
    ("twilio", "countries"): _(
        "Tick the countries: Twilio Console, Messaging, Settings, Geo permissions. Without it "
        "Twilio refuses with 21408."
    ),
    ("smsc", "balance"): _("Top up the balance with SMSC."),
    ("smsc", "sender"): _(
        "Have the sender's name approved by SMSC (Senders), or set SMSC_SENDER to an approved one."
    ),
    ("smsc", "callback_secret"): _(
        "Set SMSC_CALLBACK_SECRET to the secret given with the handler's address: without it no "
        "report is accepted."
    ),
}


def title(check: Check) -> StrOrPromise:
    return TITLES.get(check.topic, check.topic)


def cure(name: str, check: Check) -> StrOrPromise:
    """What to do about a check that failed or is unknown."""
    if check.topic in {"account", "away"}:
        return _RETRY if check.topic == "away" else _COMPARE
    return CURES.get((vendor_of(name), check.topic), _ASK_AGAIN)
