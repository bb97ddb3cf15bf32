"""The fields of Prelude's calls, and its names of channels."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.core.exceptions import ValidationError

from accounts.keys.principal import CompanyTexts
from api.calls import boolean, choice, integer, text
from catalogue.errors import DomainError, invalid_input
from channels.web.fields import LOCALE
from compat.fields import custom_code, entered_code, optional, part, required, values
from compat.prelude.dialect import refusal_of
from otp.protection.requesters import Requester, requester_of
from otp.texts import bindings

NUMBER = "phone_number"
EMAIL = "email_address"
PSD2 = "prelude:psd2"  # the template for payments
CHANNEL_NAMES = ("sms", "rcs", "whatsapp", "viber", "zalo", "telegram")
COMPLETED = "verification.completed"
FEEDBACKS = ("verification.started", COMPLETED)
MAX_FEEDBACKS = 100
ANY_TEXT = text(maxLength=2000)
TARGET = (required("type", choice((NUMBER, EMAIL), "TargetType")), required("value", ANY_TEXT))
CHECK = (entered_code("code"),)
FEEDBACK = (required("type", choice(FEEDBACKS, "FeedbackType")),)
METADATA = (optional("correlation_id", text(maxLength=64)),)
REALM = (optional("platform", choice(("android", "web"), "Platform")), optional("value", ANY_TEXT))
SIGNALS = (
    optional("ip", text(maxLength=64)),
    optional("device_id", text(maxLength=200)),
    optional("is_trusted_user", boolean()),
)
PAYMENT = (
    required("amount", ANY_TEXT),
    required("currency", ANY_TEXT),
    required("recipient", ANY_TEXT),
)
OPTIONS = (
    optional("preferred_channel", choice(CHANNEL_NAMES, "PreferredChannel")),
    optional("method", choice(("auto", "voice", "message"), "Method")),
    LOCALE,
    optional("code_size", integer(4, 8)),
    custom_code("custom_code"),
    optional("callback_url", ANY_TEXT),
    optional("template_id", ANY_TEXT),
    optional("sender_id", ANY_TEXT),
    optional("max_auto_fallbacks", integer(0, 1000)),
    optional("force_challenge", boolean()),
)


def target_of(body: Mapping[str, Any]) -> str:
    """The number as the client wrote it."""
    target = part(body, TARGET, "target")
    if target is None:
        raise invalid_input(target="This field is required")
    if target["type"] == EMAIL:
        raise refusal_of("email_verification_not_allowed")
    return str(target["value"])


def reference_of(body: Mapping[str, Any]) -> str:
    return values(body, METADATA, "metadata")["correlation_id"] or ""


def payment_of(body: Mapping[str, Any], *names: str) -> dict[str, str] | None:
    """The payment that a code is bound to, under our field names."""
    payment = part(body, PAYMENT, *names)
    return payment and {
        "amount": payment["amount"],
        "currency": payment["currency"],
        "payee": payment["recipient"],
    }


def signals_of(body: Mapping[str, Any], company_id: int) -> Requester:
    """The requester, for the protection, which does not use the other signals."""
    signals = values(body, SIGNALS, "signals")
    is_trusted = bool(signals["is_trusted_user"])
    try:
        return requester_of(
            company_id, ip=signals["ip"], device=signals["device_id"], is_trusted=is_trusted
        )
    except ValueError:
        raise invalid_input(**{"signals.ip": "Not an IP address"}) from None


def options_of(body: Mapping[str, Any], texts: CompanyTexts) -> dict[str, Any]:
    """The options of a send, with `channels` and `payment`."""
    options = values(body, OPTIONS, "options")
    written: Mapping[str, Any] = body.get("options") or {}
    options["channels"] = _channels(written.get("channels"))
    faults = {
        "channel_not_enabled_in_region": options["method"] == "voice",
        "invalid_sender_id": options["sender_id"],
        "invalid_request": options["channels"] and options["preferred_channel"],
        "custom_size_conflict": options["custom_code"] and options["code_size"],
        "invalid_template_id": (options["template_id"] or PSD2) != PSD2
        or (written.get("variables") and not options["template_id"]),
    }
    for code in (code for code, is_fault in faults.items() if is_fault):
        raise refusal_of(code)
    _check_app_realm(body, texts)
    try:  # texts are set in the cabinet, by purpose and language: only one template is supported
        payment = bindings.check(payment_of(body, "options", "variables"))
    except (DomainError, ValidationError):
        if options["template_id"]:
            raise refusal_of("invalid_template_variables") from None
        payment = None
    return options | {"payment": payment}


def _channels(names: Any) -> tuple[str, ...]:
    if names is None:
        return ()
    is_list = isinstance(names, list) and 0 < len(names) <= len(CHANNEL_NAMES)
    if not is_list or any(name not in CHANNEL_NAMES for name in names):
        raise invalid_input(**{"options.channels": f"A list of {', '.join(CHANNEL_NAMES)}"})
    return tuple(dict.fromkeys(names))


def named_channels(channels: Iterable[str]) -> list[str]:
    """The channels that Prelude has names for: its clients accept a closed list."""
    return [name for name in channels if name in CHANNEL_NAMES]


def _check_app_realm(body: Mapping[str, Any], texts: CompanyTexts) -> None:
    """Refuses autofill settings other than the company's own, which are set in the cabinet."""
    realm = part(body, REALM, "options", "app_realm")
    if realm is None:
        return
    if not all(realm.values()):
        raise refusal_of("invalid_app_realm")
    if realm["value"] != (texts.app_hash if realm["platform"] == "android" else texts.webotp_host):
        raise refusal_of("invalid_app_realm_value")


def feedbacks_of(body: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Number, type and correlation id of each feedback."""
    items = body.get("feedbacks")
    if not isinstance(items, list) or not 0 < len(items) <= MAX_FEEDBACKS:
        raise invalid_input(feedbacks=f"A list of 1 to {MAX_FEEDBACKS} feedbacks")
    for item in items:
        feedback = part({"feedbacks": item}, FEEDBACK, "feedbacks")
        if feedback is None:
            raise invalid_input(feedbacks="A feedback is missing")
        yield target_of(item), feedback["type"], reference_of(item)
