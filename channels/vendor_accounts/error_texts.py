"""Texts for vendors' error codes and our own, for readers who are no engineers."""

from django.utils.translation import gettext_lazy as _

from channels.lifecycle.states import FallbackReason
from channels.models import Attempt, Message, ProviderAlert, Receipt
from channels.vendor_accounts.registry import VENDORS, vendor_of
from config.errors import Error
from config.texts import StrOrPromise

PROVIDERS = {name: vendor.provider_class.title for name, vendor in VENDORS.items()}

# `Attempt.error_class`: what kind of failure a call to a provider was.
ERROR_CLASSES: dict[str, StrOrPromise] = {
    "unreachable": _("not reachable there"),
    "barred": _("barred by the subscriber"),
    "refused": _("refused"),
    "retry": _("not taken, may be later"),
    "ambiguous": _("outcome unknown"),
    "expired": _("expired at the provider's"),
    "given_up": _("no proof by the deadline"),
}

_NOT_THERE = _("This number has no account in this messenger, or cannot receive such messages.")
_ACCOUNT = _(
    "The service's account with the provider has a problem. The operator has been notified."
)
_TEMPLATE = _(
    "The message template is missing, paused or does not match. The operator has been notified."
)
_TEMPLATE_LOST = _("Meta has disabled the template; see it in WhatsApp Manager.")
_FLAGGED = _("People complain about the template: it may soon be paused.")
_TOO_FAST = _("The provider asks us to send more slowly.")
_BUSY = _("The provider could not accept the message at that moment.")
_BAD_NUMBER = _("The provider does not accept this number.")
_NO_ROUTE = _("The operator does not deliver to this number.")
_LANDLINE = _("A landline, or a number that cannot receive SMS.")

# (provider, its code) → text. Sources: the vendors' error tables.
FAILURES_BY_CODE: dict[tuple[str, str], StrOrPromise] = {
    **{
        ("whatsapp_cloud", code): words
        for codes, words in (
            (("131026",), _NOT_THERE),
            (("131021",), _("The sender's own number.")),
            (
                ("131049", "130472"),
                _("WhatsApp chose not to deliver it, to protect the person from spam."),
            ),
            (("131050",), _("The person asked not to receive such messages.")),
            (("130497",), _("WhatsApp does not deliver to this country.")),
            (("132000", "132001", "132005", "132007", "132012", "132015", "132016"), _TEMPLATE),
            (("0", "3", "10", "190", "368", "131005", "131031", "131037"), _ACCOUNT),
            (("131042", "131045", "133010"), _ACCOUNT),
            (("33", "100", "131008", "131009", "131047", "131051", "135000"), _TEMPLATE),
            (("131062", "131063", "132008"), _TEMPLATE),
            (("131030",), _("A WhatsApp trial account can write only to listed numbers.")),
            (("4", "80007", "130429", "131048", "131056", "131064"), _TOO_FAST),
            (("1", "2", "131000", "131016", "131057", "133004", "2494100"), _BUSY),
        )
        for code in codes
    },
    **{
        ("telegram_gateway", code): words
        for codes, words in (
            (("PHONE_NUMBER_INVALID",), _BAD_NUMBER),
            (("PHONE_NUMBER_NOT_FOUND", "PHONE_NUMBER_NOT_AVAILABLE"), _NOT_THERE),
            (("ACCESS_TOKEN_INVALID", "ACCESS_TOKEN_REQUIRED", "BALANCE_NOT_ENOUGH"), _ACCOUNT),
            (("SENDER_USERNAME_INVALID", "SENDER_NOT_VERIFIED", "SENDER_NOT_OWNED"), _ACCOUNT),
            (("MESSAGE_ALREADY_SENT",), _("Telegram says it has already sent this code.")),
        )
        for code in codes
    },
    **{
        ("telegram_bot", code): words
        for code, words in (
            ("400", _("The bot cannot write to this chat.")),
            ("401", _ACCOUNT),
            ("403", _("The person has blocked the bot or left Telegram.")),
            ("no_contact", _("The person has not shared this number with the bot.")),
            ("404", _ACCOUNT),
            ("429", _TOO_FAST),
        )
    },
    **{
        ("smpp", code): words
        for codes, words in (
            (("ESME_RINVDSTADR",), _BAD_NUMBER),
            (("ESME_RTHROTTLED", "ESME_RMSGQFUL"), _TOO_FAST),
            (("ESME_RSYSERR", "ESME_RSUBMITFAIL", "ESME_RX_T_APPN", "ESME_RUNKNOWNERR"), _BUSY),
            (("not_bound",), _BUSY),
            (("ESME_RINVSRCADR", "ESME_RINVSRCTON", "ESME_RINVSRCNPI"), _ACCOUNT),
            (("ESME_RINVBNDSTS", "ESME_RINVSYSTYP"), _ACCOUNT),
            (("unfinished",), _("The phone has only the beginning of a long message.")),
        )
        for code in codes
    },
    **{
        ("twilio", code): words
        for codes, words in (
            (("21211", "21217", "21265", "21266", "30005"), _BAD_NUMBER),
            (("21610",), _("The person answered STOP and gets no more SMS.")),
            (("21614", "21635", "30006"), _LANDLINE),
            (("30003",), _("The phone is off or out of reach.")),
            (("30007",), _("The operator filtered the message as unwanted.")),
            (("21408",), _("Sending to this country is not enabled.")),
            (("20003", "20005", "20006", "20008", "20010", "20404", "21608", "30002"), _ACCOUNT),
            (("21210", "21212", "21267", "21601", "21603", "21606", "21607", "21609"), _ACCOUNT),
            (("21657", "21659", "21660", "21661", "21709", "21612"), _ACCOUNT),
            (("21701", "21702", "21703", "21704", "21705"), _ACCOUNT),
            (("30018", "30024", "30032", "30033", "30034", "30035", "30040", "30042"), _ACCOUNT),
            (("14107", "20429", "21611", "30001", "30022", "30023", "30027"), _TOO_FAST),
            (("30017", "30410"), _BUSY),
            (("30008", "30009"), _("The operator did not say why.")),
        )
        for code in codes
    },
    **{
        ("smsc", code): words
        for codes, words in (
            (("-3",), _("The provider never got the message.")),
            (("2", "3", "24"), _ACCOUNT),
            (("4", "9"), _TOO_FAST),
            (("6", "23"), _("The provider does not accept this text, sender or number.")),
            (("7", "22"), _BAD_NUMBER),
            (("8", "25"), _NO_ROUTE),
            (("20",), _("The phone cannot be reached, or takes no SMS.")),
        )
        for code in codes
    },
}

_BARRED = _("The subscriber has forbidden mass SMS at the operator, which counts codes among them.")
FAILURES_BY_CLASS: dict[str, StrOrPromise] = {
    "barred": _BARRED,
    "unreachable": _("This person cannot be reached by this channel."),
    "refused": _("The provider refused the message."),
    "retry": _("Not accepted at that moment. It is retried while there is time."),
    "ambiguous": _("The provider did not answer in time, so the phone may have the message."),
    "expired": _("The provider gave up: the message was not delivered in time."),
    "patience": _("No proof of delivery arrived within the time allowed for the channel."),
}

# Decision of the fallback chain → title, tone, detail.
_CHARGED_ONCE = _("One delivery is charged, whatever else arrives.")
FALLBACK_EVENT_TEXTS: dict[FallbackReason, tuple[StrOrPromise, str, StrOrPromise]] = {
    FallbackReason.PATIENCE: (
        _("Not confirmed in time: trying %(channel)s"),
        "warning",
        _CHARGED_ONCE,
    ),
    FallbackReason.REFUSED: (_("Not delivered: trying %(channel)s"), "", ""),
    FallbackReason.TOKENS: (
        _("Too few tokens for %(channel)s"),
        "warning",
        _("Top up so that later messages can use this channel."),
    ),
    FallbackReason.BUDGET: (
        _("Over a token budget: %(channel)s not tried"),
        "warning",
        _("Raise the budget in the settings so that later messages can use this channel."),
    ),
    FallbackReason.TIME: (
        _("Too late for %(channel)s"),
        "",
        _("What the message carries would expire on its way."),
    ),
    FallbackReason.LATE: (_("%(channel)s canceled: delivered after all"), "success", ""),
    FallbackReason.OWED: (
        _("Delivered after all, but %(channel)s had the message already"),
        "warning",
        _("It is charged if that is delivered too, and only then."),
    ),
    FallbackReason.CODE_ENTERED: (_("%(channel)s canceled: the code was entered"), "success", ""),
    FallbackReason.CLICK: (_("%(channel)s canceled: the link was opened"), "success", ""),
}

ALERTS_BY_KIND: dict[str, StrOrPromise] = {
    "refused": _("It lasts until somebody fixes the account."),
    "throttled": _("It clears up by itself."),
    "template": _("It concerns one template; the account keeps working with the others."),
    "warning": _("The account works, but the provider has sent a warning."),
}

# Vendors' alerts about an account, for the operator.
_RESTRICTED = _("Meta restricts the account. See Account quality in Meta Business Suite.")
_LOST_ACCOUNT = _("Meta has disabled the WhatsApp account: nothing is sent through it.")
_APP_REMOVED = _("Our app lost its access to the WhatsApp account: subscribe it again.")
_COMPLAINTS = _("People complain about messages from this number: its limit may be lowered next.")
_CATEGORY = _("Meta is moving the template to another category: its price and limits change.")
_NO_COUNTRY = _("Switch the country on in Twilio: Messaging, Settings, Geo permissions.")
_NO_SENDER = _("The sender (TWILIO_FROM) cannot be used for this: choose another in Twilio.")
_STOP_UNMATCHED = _(
    "Somebody said STOP whose phone is hidden or unknown: find the person by the id and block it."
)
ALERTS_BY_CODE: dict[tuple[str, str], StrOrPromise] = {
    **{
        ("whatsapp_cloud", code): words
        for codes, words in (
            (
                ("held_for_quality_assessment",),
                _("Held back until Meta has reviewed the template."),
            ),
            (("paused", "template_paused", "template_disabled"), _TEMPLATE_LOST),
            (("template_rejected", "template_archived", "template_deleted"), _TEMPLATE_LOST),
            (("template_pending_deletion",), _TEMPLATE_LOST),
            (("template_flagged", "template_quality_red"), _FLAGGED),
            (("template_locked",), _("Meta has locked the template: it cannot be edited.")),
            (
                ("template_limit_exceeded",),
                _("The account already has as many templates as it may have."),
            ),
            (("template_category", "template_category_soon"), _CATEGORY),
            (("account_restriction", "account_violation", "review_rejected"), _RESTRICTED),
            (("disabled_update", "account_deleted", "account_offboarded"), _LOST_ACCOUNT),
            (("review_disabled",), _LOST_ACCOUNT),
            (("partner_app_uninstalled", "partner_removed"), _APP_REMOVED),
            (("quality_flagged", "quality_downgrade", "quality_red"), _COMPLAINTS),
            (("quality_yellow",), _COMPLAINTS),
        )
        for code in codes
    },
    **{(vendor, "stop_unmatched"): _STOP_UNMATCHED for vendor in VENDORS},
    ("twilio", "21408"): _NO_COUNTRY,
    ("twilio", "21612"): _NO_SENDER,
    **{
        ("twilio", code): _NO_SENDER
        for code in ("21212", "21606", "21657", "21659", "21660", "21661", "21709")
    },
    ("twilio", "21703"): _("The messaging service has no sender for this country: add one."),
    ("twilio", "21704"): _("The messaging service has no sender for this country: add one."),
    ("twilio", "30032"): _("The toll-free number is not verified: Twilio asks for that."),
    ("twilio", "30034"): _("The sender is not registered for the USA (A2P 10DLC)."),
    ("twilio", "30002"): _("Twilio has suspended the account: write to its support."),
    ("smpp", "receipt"): _(
        "The message centre sends receipts that cannot be understood, so they prove nothing. If "
        "the detail is a state, say what it means in SMPP_RECEIPT_STATES."
    ),
    ("smsc", "6"): _("SMSC does not let the sender (SMSC_SENDER) through: have it approved."),
    ("telegram_gateway", "balance_low"): _(
        "The Telegram Gateway balance is running low: add funds."
    ),
    ("smsc", "24"): _("The SMSC balance is used up: top it up."),
}

REASONS: dict[str, StrOrPromise] = {
    "failed": _("not delivered"),
    "expired": _("not delivered in time"),
    "late proof": _("proof came too late"),
    FallbackReason.PATIENCE: _("another channel was tried"),
    FallbackReason.REFUSED: _("another channel was tried"),
    FallbackReason.CODE_ENTERED: _("the code was entered"),
    FallbackReason.CLICK: _("the link was opened"),
}

# Advice by our error or the message's kind, and by the vendor's code where that says more.
ADVICE: dict[str, StrOrPromise] = {
    "recipient_unreachable": _(
        "Send by another channel. This attempt no longer counts towards the limits, so "
        "you can do it at once. If no channel reaches this person, ask them to check the "
        "number."
    ),
    "delivery_failed": _(
        "Nothing was charged. Send by another channel now. If it keeps happening, "
        "contact the operator of this service with the message id."
    ),
    "code": _(
        "Nothing was charged, and the code has expired: send a new one when the person "
        "asks, perhaps by another channel."
    ),
    "link": _(
        "Nothing was charged. The phone may have been off: send it again, perhaps by "
        "another channel."
    ),
}
_WRITE_START = _("To get messages again, the person has to send START to the sender.")
_OTHER_CHANNEL = _("This channel does not reach the number. Send by another one.")
ADVICE_BY_CLASS: dict[str, StrOrPromise] = {
    "barred": _(
        "Send by another channel, or tell the person: “Your operator blocks our SMS because you "
        "forbade mass messages. Allow them in the operator's app or by calling it, and ask for a "
        "new code.”"
    ),
}
ADVICE_BY_CODE: dict[tuple[str, str], StrOrPromise] = {
    ("twilio", "21610"): _WRITE_START,
    ("twilio", "21614"): _OTHER_CHANNEL,
    ("twilio", "21635"): _OTHER_CHANNEL,
    ("twilio", "30006"): _OTHER_CHANNEL,
    ("whatsapp_cloud", "131026"): _OTHER_CHANNEL,
    ("whatsapp_cloud", "131050"): _OTHER_CHANNEL,
    ("telegram_bot", "403"): _("Send by another channel, or ask the person to unblock the bot."),
    ("telegram_bot", "no_contact"): _(
        "Ask the person to open the bot and share their number, or send by another channel."
    ),
    ("smsc", "8"): _OTHER_CHANNEL,
    ("smsc", "25"): _OTHER_CHANNEL,
    ("smsc", "7"): _("Ask the person to check the number: no operator recognises it."),
    ("smpp", "ESME_RINVDSTADR"): _OTHER_CHANNEL,
    ("twilio", "21211"): _("Ask the person to check the number: no operator recognises it."),
}


def provider_title(provider: str) -> StrOrPromise:
    """The title of an account: “Twilio”, “Twilio · kz”."""
    if provider.startswith("test_"):
        return _("Test phone")
    vendor, account = vendor_of(provider), provider.partition(":")[2]
    title = PROVIDERS.get(vendor, vendor)
    return f"{title} · {account}" if account else title


def failure_text(provider: str, code: str, error_class: str = "") -> StrOrPromise:
    """By the vendor's code if it is known, else by the class of the failure."""
    return (
        FAILURES_BY_CODE.get((vendor_of(provider), code))
        or FAILURES_BY_CLASS.get(error_class)
        or _("No reason was given.")
    )


def alert_text(alert: ProviderAlert) -> StrOrPromise:
    """What a vendor's alert means to the operator."""
    return alert_text_for(alert.provider, alert.code, alert.kind)


def alert_text_for(provider: str, code: str, kind: str) -> StrOrPromise:
    vendor = vendor_of(provider)
    return (
        ALERTS_BY_CODE.get((vendor, code))
        or FAILURES_BY_CODE.get((vendor, code))
        or ALERTS_BY_KIND[kind]
    )


def attempt_failure_text(attempt: Attempt) -> StrOrPromise:
    return failure_text(attempt.provider, attempt.error_code, attempt.error_class)


def receipt_failure_text(receipt: Receipt) -> StrOrPromise:
    error_class = "refused" if receipt.state == "failed" else receipt.state
    return failure_text(receipt.provider, receipt.error_code, error_class)


def api_error_text(code: str) -> str:
    """The text that the API gives for an error code of ours; the code itself if unknown."""
    error = {error.code: error for error in Error}.get(code)
    return str(error.message) if error else code


def advice_text(message: Message) -> StrOrPromise:
    """Advice about a message that was not delivered."""
    last = message.attempts.order_by("-n").first()
    by_code = ADVICE_BY_CODE.get((vendor_of(last.provider), last.error_code)) if last else None
    by_class = ADVICE_BY_CLASS.get(last.error_class) if last else None
    return by_code or by_class or ADVICE.get(message.error) or ADVICE[message.kind]
