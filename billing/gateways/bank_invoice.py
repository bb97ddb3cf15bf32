"""The bank invoice: paid by bank transfer, which the operator confirms."""

from datetime import timedelta

from django.core import signing

from billing.gateways.base import Gateway, PaymentRequest, PaymentSession

_SIGNER = signing.Signer(salt="billing.invoice")


class Invoice(Gateway):
    name = "invoice"
    lifetime = timedelta(days=14)
    has_invoice = True

    def __init__(self, *, public_url: str) -> None:
        self.public_url = public_url

    def open(self, payment: PaymentRequest) -> PaymentSession:
        return PaymentSession(payment_url=f"{self.public_url}/invoices/{sign(payment.order_id)}")


def sign(order_id: str) -> str:
    """Signs the order's id for a link that a payer opens without signing in."""
    return _SIGNER.sign(order_id)


def unsign(token: str) -> str | None:
    try:
        return _SIGNER.unsign(token)
    except signing.BadSignature:
        return None
