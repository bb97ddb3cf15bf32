"""Meta's error codes, in responses, statuses and webhooks, and its alerts about our account.

https://developers.facebook.com/documentation/business-messaging/whatsapp/support/error-codes
(28 November 2026). A code that is not here follows the HTTP status of the response; in a webhook
it is taken to pass by itself.
https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference
"""

from collections.abc import Callable

from channels.providers import http
from channels.providers.base import DestinationRefusedError, RefusedError
from channels.providers.http import text_of, upper_of
from channels.providers.inbound import AccountAlert, AlertKind

# Matched by error.code only: the HTTP status of a code has changed over the years.
ERROR_KINDS: dict[int, http.ErrorKind] = {
    **dict.fromkeys((131021, 131026, 131049, 131050, 130472), http.UNREACHABLE),
    **dict.fromkeys((100, 131008, 131009, 131030, 131047, 131051, 135000), http.REFUSED),
    **dict.fromkeys((131062, 131063), http.REFUSED),  # not available for this kind of template
    **dict.fromkeys((132000, 132001, 132005, 132007, 132008, 132012), http.REFUSED),
    **dict.fromkeys((132015, 132016), http.REFUSED),
    **dict.fromkeys((0, 3, 10, 33, 190, *range(200, 300), 368), http.ACCOUNT_REFUSED),
    **dict.fromkeys((131005, 131031, 131037, 131042, 131045, 133010), http.ACCOUNT_REFUSED),
    130497: http.DESTINATION_REFUSED,  # the account may not write to people of this country
    **dict.fromkeys((1, 2, 131000, 131016, 133004), http.TRANSIENT),
    # The account, or its number, is being moved or maintained.
    **dict.fromkeys((131057, 2494100), http.ACCOUNT_TRANSIENT),
    131056: http.THROTTLED,  # too fast for this recipient
    **dict.fromkeys((4, 80007, 130429, 131048, 131064), http.ACCOUNT_THROTTLED),
}
# Subcodes of code 100: our phone number's id belongs to another account or does not exist, or the
# token has no right to it.
_NO_SUCH_OBJECT = 33


def code_of(error: http.Json) -> object:
    """The code to look up: the subcode if the object cannot be reached."""
    code = error.get("code")
    subcode = error.get("error_subcode")
    return _NO_SUCH_OBJECT if (code, subcode) == (100, _NO_SUCH_OBJECT) else code


def error_kind(error: http.Json) -> http.ErrorKind:
    code = http.number(error.get("code"))
    return ERROR_KINDS.get(-1 if code is None else code, http.TRANSIENT)


def error_detail(error: http.Json) -> object:
    details = http.mapping(error.get("error_data")).get("details")
    return details or error.get("title") or error.get("message")


# Events of `account_update` after which Meta accepts nothing from us, or soon will not. Other
# events (signed terms, prices, other companies' partners) need no action by the operator.
_ACCOUNT_EVENTS = {
    "ACCOUNT_DELETED": AlertKind.REFUSED,
    "ACCOUNT_OFFBOARDED": AlertKind.REFUSED,
    "ACCOUNT_RESTRICTION": AlertKind.WARNING,  # REFUSED if sending is forbidden: `_account`
    "ACCOUNT_VIOLATION": AlertKind.WARNING,
    "DISABLED_UPDATE": AlertKind.REFUSED,
    "PARTNER_APP_UNINSTALLED": AlertKind.WARNING,
    "PARTNER_REMOVED": AlertKind.WARNING,
}
_SENDING_FORBIDDEN = "RESTRICTED_BIZ_INITIATED_MESSAGING"
_BANS = {"SCHEDULE_FOR_DISABLE": AlertKind.WARNING, "REINSTATE": None}
# `phone_number_quality_update`: the number loses its limit soon, or has lost it.
_QUALITY_EVENTS = {"FLAGGED", "DOWNGRADE", "RED", "YELLOW"}
# `message_template_status_update`: the template is out of use, soon will be, or is locked.
_TEMPLATE_EVENTS = {
    *("PAUSED", "DISABLED", "REJECTED", "FLAGGED", "LOCKED", "LIMIT_EXCEEDED"),
    *("ARCHIVED", "DELETED", "PENDING_DELETION"),
}


def alerts_of(field: str, value: http.Json) -> list[AccountAlert]:
    """The alerts of one change in the webhook."""
    read = _FIELDS.get(field)
    alert = read and read(value)
    return ([alert] if alert else []) + _errors(value)


def _account(value: http.Json) -> AccountAlert | None:
    event = upper_of(value, "event")
    kind: AlertKind | None = _ACCOUNT_EVENTS.get(event)
    ban = upper_of(http.mapping(value.get("ban_info")), "waba_ban_state")
    restrictions = [
        upper_of(row, "restriction_type") for row in http.objects(value.get("restriction_info"))
    ]
    if event == "DISABLED_UPDATE":
        kind = _BANS.get(ban, kind)
    if _SENDING_FORBIDDEN in restrictions:
        kind = AlertKind.REFUSED
    if kind is None:
        return None
    violation = upper_of(http.mapping(value.get("violation_info")), "violation_type")
    return _alert(event, kind, ban, *restrictions, violation)


def _number_quality(value: http.Json) -> AccountAlert | None:
    event = upper_of(value, "event")
    quality = upper_of(value, "quality_rating") or upper_of(value, "new_quality_score")
    level = next((value for value in (event, quality) if value in _QUALITY_EVENTS), None)
    if level is None:
        return None
    limit = upper_of(value, "max_daily_conversations_per_business") or upper_of(
        value, "current_limit"
    )
    return _alert(f"quality_{level}", AlertKind.WARNING, limit)


def _template_status(value: http.Json) -> AccountAlert | None:
    event = upper_of(value, "event")
    if event not in _TEMPLATE_EVENTS:
        return None
    reason = text_of(value, "reason")
    return _alert(f"template_{event}", AlertKind.TEMPLATE, *_template(value), reason)


def _template_quality(value: http.Json) -> AccountAlert | None:
    score = upper_of(value, "new_quality_score")
    if score != "RED":
        return None
    return _alert("template_quality_RED", AlertKind.TEMPLATE, *_template(value))


def _template_category(value: http.Json) -> AccountAlert | None:
    """A category that changed, or will in a day; it determines the price and the limits."""
    new = upper_of(value, "new_category")
    announced = upper_of(value, "correct_category")
    if not (new or announced):
        return None
    if announced and announced != new:
        return _alert("template_category_soon", AlertKind.TEMPLATE, *_template(value), announced)
    return _alert("template_category", AlertKind.TEMPLATE, *_template(value), new)


def _review(value: http.Json) -> AccountAlert | None:
    decision = upper_of(value, "decision")
    is_bad = decision in {"REJECTED", "DISABLED"}
    return _alert(f"review_{decision}", AlertKind.WARNING) if is_bad else None


def _account_alert(value: http.Json) -> AccountAlert | None:
    info = http.mapping(value.get("alert_info"))
    if upper_of(info, "alert_severity") not in {"CRITICAL", "WARNING"}:
        return None
    return _alert(
        upper_of(info, "alert_type"), AlertKind.WARNING, text_of(info, "alert_description")
    )


_FIELDS: dict[str, Callable[[http.Json], AccountAlert | None]] = {
    "account_update": _account,
    "account_alerts": _account_alert,
    "account_review_update": _review,
    "phone_number_quality_update": _number_quality,
    "message_template_status_update": _template_status,
    "message_template_quality_update": _template_quality,
    "template_category_update": _template_category,
}


def _errors(value: http.Json) -> list[AccountAlert]:
    # Meta may accept a message and fail it later because of the account.
    of_messages = [
        error
        for status in http.objects(value.get("statuses"))
        for error in http.objects(status.get("errors"))
        if error_kind(error)[1]
    ]
    return [_error(error) for error in [*http.objects(value.get("errors")), *of_messages]]


def _error(error: http.Json) -> AccountAlert:
    meaning = error_kind(error)[0]
    kind = AlertKind.REFUSED if issubclass(meaning, RefusedError) else AlertKind.THROTTLED
    if issubclass(meaning, DestinationRefusedError):
        kind = AlertKind.WARNING
    return AccountAlert(
        http.text(error.get("code")) or "unknown", http.redact(error_detail(error)), kind
    )


def _alert(code: str, kind: AlertKind, *details: str) -> AccountAlert:
    detail = http.redact(" ".join(filter(None, details)))
    return AccountAlert(code.lower() or "unknown", detail, kind)


def _template(value: http.Json) -> tuple[str, str]:
    return text_of(value, "message_template_name"), text_of(value, "message_template_language")
