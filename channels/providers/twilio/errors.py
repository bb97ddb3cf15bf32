"""The verdicts on Twilio's error codes, in responses and receipts.

https://www.twilio.com/docs/api/errors (28 November 2026). A code that is not here follows the HTTP
status of the response; in a receipt it fails the message.
"""

from channels.providers import http
from channels.providers.inbound import ReceiptState

_NO_SUCH_PHONE = (21211, 21217, 21614, 21635, 30005, 30006)
_NO_PERSON = (21265, 21266, 21610)  # a short code, the sender itself, who answered STOP
_NO_ACCOUNT = (20003, 20005, 20006, 20008, 20010, 20404, 21608, 30002)
# The number or name to send from: 21606 is what Twilio said before it told these apart.
_NO_SENDER = (21210, 21212, 21267, 21601, 21603, 21606, 21607, 21657, 21659, 21660, 21661, 21709)
_NO_SERVICE = (21701, 21702, 21703, 21704, 21705)  # of messages, with its senders
# The country is not switched on, or the sender cannot reach it or is not registered there.
_NOT_THERE = (21408, 21612, 30018, 30024, 30032, 30033, 30034, 30035, 30040, 30042)

VERDICTS: dict[int, http.Verdict] = {
    **dict.fromkeys((*_NO_SUCH_PHONE, *_NO_PERSON), http.UNREACHABLE),
    30004: http.BARRED,  # "blocked from receiving this message"
    **dict.fromkeys((*_NO_ACCOUNT, *_NO_SENDER, *_NO_SERVICE), http.ACCOUNT_REFUSED),
    21609: http.ACCOUNT_REFUSED,  # our address for receipts
    **dict.fromkeys(_NOT_THERE, http.DESTINATION_REFUSED),
    **dict.fromkeys((21617, 30007, 30038, 30450), http.REFUSED),  # the text, or a suspected fraud
    # Queues and rates, and the days' limits of carriers in the USA.
    **dict.fromkeys((14107, 20429, 21611, 30001, 30022, 30023, 30027), http.ACCOUNT_THROTTLED),
    **dict.fromkeys((30003, 30008, 30009, 30017, 30410), http.TRANSIENT),
}
_EXPIRED = 30036  # its ValidityPeriod was over before Twilio sent it
_FAILED_STATES: dict[http.Verdict | None, ReceiptState] = {
    http.UNREACHABLE: ReceiptState.UNREACHABLE,
    http.BARRED: ReceiptState.BARRED,
}


def failed_state(code: str | None) -> ReceiptState:
    """The state of a message that Twilio says has failed."""
    number = http.number(code) or 0
    if number == _EXPIRED:
        return ReceiptState.EXPIRED
    return _FAILED_STATES.get(VERDICTS.get(number), ReceiptState.FAILED)
