"""Titles and cures of the checks of vendors' accounts."""

from django.utils.translation import gettext_lazy as _

from channels.providers.base import Check
from channels.providers.vendors import VENDORS, vendor_of
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

CURES = {
    (name, topic): text for name, vendor in VENDORS.items() for topic, text in vendor.cures.items()
}


def title(check: Check) -> StrOrPromise:
    return TITLES.get(check.topic, check.topic)


def cure(name: str, check: Check) -> StrOrPromise:
    """What to do about a check that failed or is unknown."""
    if check.topic in {"account", "away"}:
        return _RETRY if check.topic == "away" else _COMPARE
    return CURES.get((vendor_of(name), check.topic), _ASK_AGAIN)
