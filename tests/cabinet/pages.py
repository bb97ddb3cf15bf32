"""Every page of the cabinet, and a company with something to show on each."""

from datetime import timedelta

from django.urls import reverse
from django.utils import timezone

from accounts.models import Company, Mode
from billing import orders
from billing.gateways import registry
from billing.offers import Quote
from channels.models import Message
from tests.factories import (
    ApiKeyFactory,
    AttemptFactory,
    MessageFactory,
    OrderFactory,
    PackageFactory,
    ReceiptFactory,
    SellerFactory,
    TariffFactory,
    TransferFactory,
    WalletFactory,
)


def furnish(company: Company) -> None:
    """Keys alive and dead, and messages delivered, under way and failed."""
    now = timezone.now()
    WalletFactory.create(company=company, available=21, held=2)
    key = ApiKeyFactory.create(company=company, last_used_at=now, allowed_ips=["203.0.113.7"])
    ApiKeyFactory.create(company=company, expires_at=now + timedelta(days=3))
    ApiKeyFactory.create(company=company, revoked_at=now)
    delivered = MessageFactory.create(
        company=company, api_key=key, state="delivered", delivered_at=now, request_id="req_1"
    )
    ReceiptFactory.create(attempt=AttemptFactory.create(message=delivered, state="delivered"))
    TransferFactory.create(company=company, kind="hold", message_id=delivered.id)
    TransferFactory.create(
        company=company, kind="capture", proof="receipt", message_id=delivered.id
    )
    sell(company)
    MessageFactory.create(company=company, mode=Mode.TEST, price=0)
    fail(MessageFactory.create(company=company, channel="sms", price=16))


def sell(company: Company) -> None:
    """Prices, an invoice that waits for its payment, and top-ups that ended."""
    SellerFactory.create()
    TariffFactory.create()
    package = PackageFactory.create()
    gateway = registry.find("invoice")
    assert gateway is not None
    quote = Quote(package.tokens, package.price, package.currency, package)
    orders.place(company=company, quote=quote, gateway=gateway, by=orders.By())
    OrderFactory.create(company=company)
    OrderFactory.create(company=company, state="paid", paid_at=timezone.now())
    OrderFactory.create(company=company, state="expired")


def fail(message: Message) -> None:
    now = timezone.now()
    message.state, message.error = "failed", "recipient_unreachable"
    message.finished_at = now
    message.save()
    AttemptFactory.create(
        message=message,
        provider="twilio",
        state="failed",
        error_class="unreachable",
        error_code="21614",
        finished_at=now,
    )


def addresses(company: Company) -> list[str]:
    """The pages a member opens; the company's own objects stand in the parametrised ones."""
    key = company.api_keys.active().filter(expires_at=None).get()
    names = ["overview", "message-list", "key-list", "key-create", "settings"]
    names += ["balance", "balance-statement", "balance-order-list", "balance-profile"]
    top_ups = [
        reverse(name, args=[order.public_id])
        for order in company.orders.all()
        for name in ("balance-order", "balance-order-status", "balance-order-cancel")
    ]
    messages = [reverse("message-detail", args=[m.public_id]) for m in company.messages.all()]
    statuses = [reverse("message-status", args=[m.public_id]) for m in company.messages.all()]
    key_pages = [reverse(name, args=[key.pk]) for name in ("key-rotate", "key-revoke")]
    account = ["account_email", "account_change_password", "mfa_index", "account_logout"]
    return [
        *map(reverse, names),
        reverse("message-list") + "?mode=test&phone=%2B7999&date_from=junk",
        reverse("balance-statement") + "?kind=all&date_to=junk",
        reverse("balance-quote") + "?tokens=1 000",
        *top_ups,
        *messages,
        *statuses,
        *key_pages,
        *map(reverse, account),
    ]


ANONYMOUS = ["home", "account_login", "account_signup", "account_reset_password"]
