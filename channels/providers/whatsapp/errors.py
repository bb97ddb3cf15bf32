"""The verdicts on Meta's error codes, in responses, statuses and webhook errors.

https://developers.facebook.com/documentation/business-messaging/whatsapp/support/error-codes
(28 November 2026). A code that is not here follows the HTTP status of the response; in a webhook
it is taken to pass by itself.
"""

from channels.providers import http

# By error.code alone: the HTTP status of a code has changed over the years.
VERDICTS: dict[int, http.Verdict] = {
    **dict.fromkeys((131021, 131026, 131049, 131050, 130472), http.UNREACHABLE),
    **dict.fromkeys((100, 131008, 131009, 131030, 131047, 131051, 135000), http.REFUSED),
    **dict.fromkeys((131062, 131063), http.REFUSED),  # not by this kind of template
    **dict.fromkeys((132000, 132001, 132005, 132007, 132008, 132012), http.REFUSED),
    **dict.fromkeys((132015, 132016), http.REFUSED),
    **dict.fromkeys((0, 3, 10, 33, 190, *range(200, 300), 368), http.ACCOUNT_REFUSED),
    **dict.fromkeys((131005, 131031, 131037, 131042, 131045, 133010), http.ACCOUNT_REFUSED),
    130497: http.DESTINATION_REFUSED,  # the account may not write to people of this country
    **dict.fromkeys((1, 2, 131000, 131016, 133004), http.TRANSIENT),
    # The account, or its number, is being moved or maintained.
    **dict.fromkeys((131057, 2494100), http.ACCOUNT_TRANSIENT),
    131056: http.THROTTLED,  # too fast for this one recipient
    **dict.fromkeys((4, 80007, 130429, 131048, 131064), http.ACCOUNT_THROTTLED),
}


# Subcodes of code 100: our phone number's id is another's or none, or the token has no right to it.
_NO_SUCH_OBJECT = 33


def code_of(error: http.Json) -> object:
    """The code to look up; of an object that cannot be reached its subcode, a code as well."""
    code, subcode = error.get("code"), error.get("error_subcode")
    return _NO_SUCH_OBJECT if (code, subcode) == (100, _NO_SUCH_OBJECT) else code


def verdict(error: http.Json) -> http.Verdict:
    code = http.number(error.get("code"))
    return VERDICTS.get(-1 if code is None else code, http.TRANSIENT)


def error_detail(error: http.Json) -> object:
    details = http.mapping(error.get("error_data")).get("details")
    return details or error.get("title") or error.get("message")
