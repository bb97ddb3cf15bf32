"""T-Bank: a one-time SBP link that a company or sole trader pays from an account at any bank.

Webhooks carry our secret but are not trusted: the link is read from the API. The bank has no
idempotency key: a repeated `open` makes another link, which nobody is shown.

https://developer.tbank.ru/docs/products/sbp-b2b, https://developer.tbank.ru/docs/intro/webhooks/
"""

import hmac
import json
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

from billing.gateways.base import (
    CENT,
    Gateway,
    GatewayError,
    InvalidWebhookError,
    PaymentEvent,
    PaymentRequest,
    PaymentSession,
    StatementEvent,
    WebhookRequest,
    check_id,
)
from billing.gateways.base import PaymentState as State
from billing.gateways.http import ProviderApi, RefusedByProviderError, parsing_response
from parsing.json_objects import read_object

LIFETIME_DAYS = 3
MIN_AMOUNT = Decimal(10)
MAX_AMOUNT = Decimal(999_999)
VAT_RATES = frozenset({0, 5, 7, 10, 20, 22})
MAX_PURPOSE = 210  # characters
MAX_REDIRECT = 1024  # characters of an address
# The API returns `Paid`, webhooks say `PAID`.
STATES = {"paid": State.PAID, "cancelled": State.CANCELED, "expired": State.CANCELED}
NO_SUCH_LINK = {400, 404, 422}


class TBank(Gateway):
    name = "tbank"
    lifetime = timedelta(days=LIFETIME_DAYS)
    currencies = frozenset({"RUB"})
    is_pollable = True

    def __init__(
        self,
        *,
        url: str,
        token: str,
        account: str,
        webhook_secret: str,
        has_statement: bool = False,  # read by `billing.bank_statements`
    ) -> None:
        self.api = ProviderApi(url, f"Bearer {token}")
        self.account = account
        self.webhook_secret = webhook_secret

    def takes(self, currency: str, amount: Decimal | None = None) -> bool:
        return super().takes(currency) and (amount is None or MIN_AMOUNT <= amount <= MAX_AMOUNT)

    def open(self, payment: PaymentRequest) -> PaymentSession:
        body: dict[str, Any] = {
            "accountNumber": self.account,
            "sum": float(payment.amount),
            "purpose": purpose(payment),
            "ttl": LIFETIME_DAYS,
        }
        if payment.vat_rate is not None:
            body["vat"] = vat(payment.vat_rate)
        if len(payment.return_url) <= MAX_REDIRECT:
            body["redirectUrl"] = payment.return_url
        headers = {"Content-Type": "application/json", "X-Request-Id": str(uuid4())}
        link = self.api.post("/api/v1/b2b/qr/onetime", json.dumps(body).encode(), headers)
        with parsing_response():
            return PaymentSession(str(link["paymentUrl"]), str(link["qrId"]))

    def poll(self, payment_id: str) -> PaymentEvent | None:
        link = self.api.get(f"/api/v1/b2b/qr/{quote(payment_id, safe='')}/info")
        with parsing_response():
            state = STATES.get(str(link["status"]).lower())
            return _event(link, state) if state else None

    def check_credentials(self) -> None:
        """Requests a link that does not exist: the bank checks the token before the link."""
        try:
            self.api.get(f"/api/v1/b2b/qr/{UUID(int=0)}/info")
        except RefusedByProviderError as error:
            if error.status not in NO_SUCH_LINK:
                raise

    def parse_webhook(self, webhook: WebhookRequest) -> PaymentEvent | StatementEvent | None:
        authorization = webhook.headers.get("Authorization", "").encode()
        if not hmac.compare_digest(authorization, f"Bearer {self.webhook_secret}".encode()):
            raise InvalidWebhookError
        try:
            notification = read_object(webhook.body)
            if notification.get("operationId") and not notification.get("qrId"):
                account = str(notification.get("accountNumber") or "")
                return StatementEvent(check_id(account) if account else "")
            payment_id = check_id(str(notification["qrId"]))
        except (ValueError, KeyError):
            raise InvalidWebhookError from None
        return self._read(payment_id)

    def _read(self, payment_id: str) -> PaymentEvent | None:
        try:
            return self.poll(payment_id)
        except RefusedByProviderError as error:
            if error.status in NO_SUCH_LINK:
                raise InvalidWebhookError from None
            raise


def purpose(payment: PaymentRequest) -> str:
    """The purpose of the payment.

    It ends with our order's id, by which the transfer is found in the account's statement.
    """
    suffix = f". top_{payment.order_id}"
    return payment.title[: MAX_PURPOSE - len(suffix)] + suffix


def vat(rate: Decimal) -> str:
    if rate != rate.to_integral_value() or int(rate) not in VAT_RATES:
        raise GatewayError(f"no link has a VAT of {rate} %")
    return str(int(rate))


def _event(link: Mapping[str, Any], state: State) -> PaymentEvent:
    """The event of a link. The bank has no field for our order, which is found by the link's id.
    SBP is in roubles.
    """
    return PaymentEvent(
        payment_id=str(link["qrId"]),
        order_id="",
        # A link that nobody has paid may come without its sum.
        amount=Decimal(str(link["sum"])).quantize(CENT) if state is State.PAID else Decimal(0),
        currency="RUB",
        state=state,
    )
