"""The bank invoice: paid by bank transfer, which the operator confirms."""

from datetime import timedelta
from uuid import UUID

from billing.gateways.base import Gateway, PaymentRequest, PaymentSession
from billing.signed_links import INVOICES


class Invoice(Gateway):
    name = "invoice"
    lifetime = timedelta(days=14)
    has_invoice = True

    def __init__(self, *, public_url: str) -> None:
        self.public_url = public_url

    def open(self, payment: PaymentRequest) -> PaymentSession:
        token = INVOICES.token(UUID(hex=payment.order_id))
        return PaymentSession(payment_url=f"{self.public_url}/invoices/{token}")
