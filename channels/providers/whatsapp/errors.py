"""The verdicts on Meta's error codes, in responses, statuses and webhook errors.

https://developers.facebook.com/documentation/business-messaging/whatsapp/support/error-codes
"""

from channels.providers import http

# By error.code alone: the HTTP status of a code has changed over the years.
VERDICTS: dict[int, http.Verdict] = {
    **dict.fromkeys((131021, 131026, 131049, 131050, 130472), http.UNREACHABLE),
    **dict.fromkeys((33, 100, 131008, 131009, 131030, 131047), http.REFUSED),
    **dict.fromkeys((132000, 132001, 132005, 132007, 132012, 132015, 132016), http.REFUSED),
    **dict.fromkeys((0, 3, 10, 190, *range(200, 300), 368), http.ACCOUNT_REFUSED),
    **dict.fromkeys((131031, 131037, 131042, 131045, 133010), http.ACCOUNT_REFUSED),
    130497: http.DESTINATION_REFUSED,  # the account may not write to people of this country
    **dict.fromkeys((1, 2, 131000, 131016, 133004), http.TRANSIENT),
    131057: http.ACCOUNT_TRANSIENT,  # the account is being moved or maintained
    131056: http.THROTTLED,  # too fast for this one recipient
    **dict.fromkeys((4, 80007, 130429, 131048), http.ACCOUNT_THROTTLED),
}


def verdict(error: http.Json) -> http.Verdict:
    code = http.number(error.get("code"))
    return VERDICTS.get(-1 if code is None else code, http.TRANSIENT)


def error_detail(error: http.Json) -> object:
    details = http.mapping(error.get("error_data")).get("details")
    return details or error.get("title") or error.get("message")
