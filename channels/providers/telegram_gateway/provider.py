"""Telegram Gateway: codes from Telegram's own "Verification Codes" chat.

https://core.telegram.org/gateway/api
"""

import hashlib
import time
from typing import Any

import orjson

from channels.providers import http
from channels.providers.base import (
    Accepted,
    AccountRequirements,
    Capabilities,
    Check,
    Content,
    Outgoing,
    SendError,
)
from channels.providers.inbound import (
    AccountAlert,
    AlertKind,
    InboundEvents,
    InvalidWebhookError,
    Receipt,
    ReceiptState,
    WebhookRequest,
)

_LOW_BALANCES = (1.0, 5.0)  # in Telegram's currency units: a hundred codes, five hundred
_MAX_CLOCK_SKEW = 300  # seconds that a report's timestamp may be off, either way
# https://core.telegram.org/gateway/api (28 November 2026) documents only ACCESS_TOKEN_INVALID; the
# other names were observed by client authors.
_ERROR_KINDS: dict[str, http.ErrorKind] = {
    **dict.fromkeys(
        ("PHONE_NUMBER_INVALID", "PHONE_NUMBER_NOT_FOUND", "PHONE_NUMBER_NOT_AVAILABLE"),
        http.UNREACHABLE,
    ),
    **dict.fromkeys(
        ("ACCESS_TOKEN_INVALID", "ACCESS_TOKEN_REQUIRED", "BALANCE_NOT_ENOUGH", "UNKNOWN_METHOD"),
        http.ACCOUNT_REFUSED,
    ),
    **dict.fromkeys(
        ("SENDER_USERNAME_INVALID", "SENDER_NOT_VERIFIED", "SENDER_NOT_OWNED"), http.ACCOUNT_REFUSED
    ),
    "CALLBACK_URL_INVALID": http.ACCOUNT_REFUSED,
    **dict.fromkeys(
        ("CODE_INVALID", "CODE_LENGTH_INVALID", "CODE_LENGTH_REQUIRED", "TTL_INVALID"), http.REFUSED
    ),
    **dict.fromkeys(
        ("PAYLOAD_INVALID", "PHONE_NUMBER_MISMATCH", "REQUEST_ID_INVALID", "REQUEST_ID_REQUIRED"),
        http.REFUSED,
    ),
    "MESSAGE_ALREADY_SENT": http.AMBIGUOUS,
}
_STATES = {
    "sent": ReceiptState.SENT,
    "delivered": ReceiptState.DELIVERED,
    "read": ReceiptState.READ,
    "expired": ReceiptState.EXPIRED,
    "revoked": ReceiptState.FAILED,
}


class TelegramGateway(http.HttpProvider):
    name = "telegram_gateway"
    channel = "telegram"
    authorization = "Bearer {token}"
    capabilities = Capabilities(
        frozenset({Content.CODE, Content.CUSTOM_DIGITS}),
        receipts=True,
        pollable=True,
        wants_entered_codes=True,
    )

    def __init__(self, *, callback_url: str, **connection: Any) -> None:
        super().__init__(**connection)
        self._callback_url = callback_url
        self._key = hashlib.sha256(self._token.encode()).digest()

    def send(self, message: Outgoing) -> Accepted:
        self._check(message)
        payload = {
            "phone_number": message.phone,
            "code": message.code,
            # Without a ttl Telegram neither expires the message nor refunds it.
            "ttl": min(max(message.ttl, 30), 3600),
            "payload": message.ref,
            "callback_url": self._callback_url,
        }
        response = self._post("/sendVerificationMessage", orjson.dumps(payload))
        if response.data.get("ok") is not True:
            raise self._refusal(response)
        result = http.mapping(response.data.get("result"))
        return Accepted(
            http.text(result.get("request_id")), _low_balance_alert(result.get("remaining_balance"))
        )

    def parse_webhook(self, call: WebhookRequest) -> InboundEvents:
        stamp = http.header(call, "X-Request-Timestamp")
        expected = http.sha256_hmac(self._key, stamp.encode(errors="replace") + b"\n" + call.body)
        http.require_signature(call, "X-Request-Signature", expected, secret=self._token)
        signed_at = http.number(stamp)
        if signed_at is None or abs(time.time() - signed_at) > _MAX_CLOCK_SKEW:
            raise InvalidWebhookError("X-Request-Timestamp is too far from now")
        return self.events_of(call.body, _receipt(http.parse(call.body)))

    def check(self) -> None:
        # Every successful call costs money or needs a message; the refusal of an unknown request id
        # proves that the token is valid.
        query = orjson.dumps({"request_id": "0"})
        response = self._query("/checkVerificationStatus", query)
        data = response.data
        if data.get("ok") is not True and data.get("error") != "REQUEST_ID_INVALID":
            raise self._refusal(response)

    def more_checks(self, requirements: AccountRequirements) -> list[Check]:
        # Only the response to a paid send contains the balance; `send` warns when it is low.
        return [Check("balance", None)]

    def poll(self, provider_id: str) -> Receipt | None:
        query = orjson.dumps({"request_id": provider_id})
        return _receipt(http.mapping(self._poll("/checkVerificationStatus", query).get("result")))

    def report_entered(self, provider_id: str, code: str) -> None:
        # "Recommended" also for codes that Telegram did not make: it counts conversions.
        query = orjson.dumps({"request_id": provider_id, "code": code})
        response = self._query("/checkVerificationStatus", query)
        if response.data.get("ok") is not True:
            raise self._refusal(response)

    def _refusal(self, response: http.VendorResponse) -> SendError:
        name = response.data.get("error")
        if response.data.get("ok") is not False or not isinstance(name, str):
            return response.undocumented_error()
        if "FLOOD_WAIT" in name:
            wait = http.number(name.rpartition("_")[2])
            return response.error(http.ACCOUNT_THROTTLED, "FLOOD_WAIT", retry_after=wait)
        if name in _ERROR_KINDS:
            return response.error(_ERROR_KINDS[name], name)
        if response.status >= 300:
            return response.undocumented_error(detail=name)
        return response.error(http.TRANSIENT, "unknown_error", name)


def _low_balance_alert(balance: object) -> AccountAlert | None:
    """A warning at a few steps of the balance, so that not every send makes a new alert."""
    if isinstance(balance, bool) or not isinstance(balance, int | float):
        return None
    step = next((step for step in _LOW_BALANCES if balance < step), None)
    if step is None:
        return None
    return AccountAlert("balance_low", f"< {step:g}", AlertKind.WARNING)


def _receipt(status: http.Json) -> Receipt | None:
    delivery = http.mapping(status.get("delivery_status"))
    vendor_status = http.text(delivery.get("status"))
    if vendor_status not in _STATES:
        return None
    return Receipt(
        provider_id=http.text(status.get("request_id")),
        ref=http.text(status.get("payload")),
        state=_STATES[vendor_status],
        vendor_status=vendor_status,
        at=http.from_timestamp(delivery.get("updated_at")),
    )
