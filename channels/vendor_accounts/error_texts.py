"""Texts for vendors' error codes and our own, for readers who are not engineers."""

from django.utils.translation import gettext_lazy as _

from catalogue.errors import Error
from catalogue.texts import StrOrPromise
from channels.lifecycle.snapshots import FallbackReason
from channels.models import Message, Receipt
from channels.providers.vendors import VENDORS, vendor_of

PROVIDERS = {name: vendor.title for name, vendor in VENDORS.items()}

# `Attempt.error_class`: the kind of failure of a call to a provider.
ERROR_CLASSES: dict[str, StrOrPromise] = {
    "unreachable": _("not reachable there"),
    "barred": _("barred by the subscriber"),
    "refused": _("refused"),
    "retry": _("not accepted; will be retried"),
    "ambiguous": _("outcome unknown"),
    "expired": _("expired at the provider's"),
    "given_up": _("no proof by the deadline"),
}

_BARRED = _("The subscriber's carrier blocks mass SMS at their request, codes among them.")
FAILURES_BY_CLASS: dict[str, StrOrPromise] = {
    "barred": _BARRED,
    "unreachable": _("This person cannot be reached by this channel."),
    "refused": _("The provider refused the message."),
    "retry": _("Not accepted at that moment. It is retried while there is time."),
    "ambiguous": _("The provider did not answer in time, so the phone may have the message."),
    "expired": _("The provider gave up: the message was not delivered in time."),
    "patience": _("No proof of delivery arrived within the time allowed for the channel."),
}

# A decision of the fallback chain, with its title, tone and detail.
_CHARGED_ONCE = _("One delivery is charged, whatever else arrives.")
FALLBACK_EVENT_TEXTS: dict[FallbackReason, tuple[StrOrPromise, str, StrOrPromise]] = {
    FallbackReason.PATIENCE: (
        _("Not confirmed in time: trying %(channel)s"),
        "warning",
        _CHARGED_ONCE,
    ),
    FallbackReason.REFUSED: (_("Not delivered: trying %(channel)s"), "", ""),
    FallbackReason.REQUESTED: (_("Asked for at once: trying %(channel)s"), "", _CHARGED_ONCE),
    FallbackReason.SENT_BY_NEWER: (_("%(channel)s left out: a newer message uses it"), "", ""),
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
        _("The code or link would expire before it arrived."),
    ),
    FallbackReason.LATE: (_("%(channel)s cancelled: delivered after all"), "success", ""),
    FallbackReason.OWED: (
        _("Delivered after all, but %(channel)s had the message already"),
        "warning",
        _("It is charged if that is delivered too, and only then."),
    ),
    FallbackReason.CODE_ENTERED: (_("%(channel)s cancelled: the code was entered"), "success", ""),
    FallbackReason.CLICK: (_("%(channel)s cancelled: the link was opened"), "success", ""),
    FallbackReason.CANCELLED: (
        _("%(channel)s cancelled: the code or link is no longer valid"),
        "",
        "",
    ),
    FallbackReason.BLOCKED: (_("%(channel)s cancelled: the phone is blocked"), "", ""),
}

ALERTS_BY_KIND: dict[str, StrOrPromise] = {
    "refused": _("It lasts until somebody fixes the account."),
    "throttled": _("It clears up by itself."),
    "template": _("It concerns one template; the account keeps working with the others."),
    "warning": _("The account works, but the provider has sent a warning."),
}

_STOP_UNMATCHED = _(
    "Somebody with a hidden or unknown phone said STOP: find the person by the id and block them."
)

REASONS: dict[str, StrOrPromise] = {
    "failed": _("not delivered"),
    "expired": _("not delivered in time"),
    "late proof": _("proof came too late"),
    FallbackReason.PATIENCE: _("another channel was tried"),
    FallbackReason.REFUSED: _("another channel was tried"),
    FallbackReason.REQUESTED: _("another channel was asked for"),
    FallbackReason.CODE_ENTERED: _("the code was entered"),
    FallbackReason.CLICK: _("the link was opened"),
    FallbackReason.CANCELLED: _("the code or link is no longer valid"),
    FallbackReason.BLOCKED: _("the phone is blocked"),
}

# Advice by our error or the message's kind, and by the vendor's code if that is more specific.
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
ADVICE_BY_CLASS: dict[str, StrOrPromise] = {
    "barred": _(
        "Send by another channel, or tell the person: “Your carrier blocks our SMS because you "
        "opted out of mass messages. Allow them in the carrier's app or by calling it, and "
        "ask for a new code.”"
    )
}


def provider_title(provider: str) -> StrOrPromise:
    """The title of an account: “Twilio”, “Twilio · kz”."""
    if provider.startswith("test_"):
        return _("Test phone")
    vendor = vendor_of(provider)
    account = provider.partition(":")[2]
    title = PROVIDERS.get(vendor, vendor)
    return f"{title} · {account}" if account else title


def failure_text(provider: str, code: str, error_class: str = "") -> StrOrPromise:
    """The text of the vendor's code if it is known, otherwise of the class of the failure."""
    vendor = VENDORS.get(vendor_of(provider))
    by_code = vendor.failures.get(code) if vendor else None
    return by_code or FAILURES_BY_CLASS.get(error_class) or _("No reason was given.")


def alert_text(provider: str, code: str, kind: str) -> StrOrPromise:
    """The meaning of a vendor's alert for the operator."""
    if code == "stop_unmatched":
        return _STOP_UNMATCHED
    vendor = VENDORS.get(vendor_of(provider))
    by_code = (vendor.alerts.get(code) or vendor.failures.get(code)) if vendor else None
    return by_code or ALERTS_BY_KIND[kind]


def receipt_failure_text(receipt: Receipt) -> StrOrPromise:
    error_class = "refused" if receipt.state == "failed" else receipt.state
    return failure_text(receipt.provider, receipt.error_code, error_class)


def api_error_text(code: str) -> str:
    """The API's text for one of our error codes; the code itself if unknown."""
    error = {error.code: error for error in Error}.get(code)
    return str(error.message) if error else code


def advice_text(message: Message) -> StrOrPromise:
    """Advice about a message that was not delivered."""
    last = message.attempts.order_by("-n").first()
    vendor = VENDORS.get(vendor_of(last.provider)) if last else None
    by_code = vendor.advice.get(last.error_code) if vendor and last else None
    by_class = ADVICE_BY_CLASS.get(last.error_class) if last else None
    return by_code or by_class or ADVICE.get(message.error) or ADVICE[message.kind]
