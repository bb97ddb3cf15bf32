"""Orders of tokens: placed, opened with a provider, canceled, expired. `payments` pays them."""

from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import ngettext

from accounts.api import idempotency
from accounts.api.idempotency import IdempotencyKey
from accounts.audit.events import record
from accounts.models import Company, User
from billing.gateways import registry
from billing.gateways.base import Gateway, GatewayError, PaymentRequest
from billing.models import InvoiceCounter, Order, Seller
from billing.orders import billing_profiles, invoices
from billing.orders.prices import Quote
from config.errors import DomainError, Error, Words

TOO_MANY_UNPAID: Words = (
    "Слишком много неоплаченных пополнений: оплатите или отмените прежние",
    "Too many unpaid top-ups: pay or cancel the earlier ones",
)
REQUISITES_NEEDED: Words = (
    "Для счёта нужны реквизиты покупателя, заполните их: {url}",
    "An invoice needs the buyer's requisites, fill them in: {url}",
)


class RequisitesNeededError(DomainError):
    """No invoice without whom it is made out to."""

    def __init__(self) -> None:
        url = f"{settings.PUBLIC_URL}{reverse('balance-profile')}"
        russian, english = (words.format(url=url) for words in REQUISITES_NEEDED)
        words = (russian, english)
        super().__init__(Error.INVALID_INPUT, message=words, errors={"gateway": [words]})


@dataclass(frozen=True, slots=True)
class Actor:
    """Who asks: a member in the cabinet, or a key."""

    user: User | None = None
    api_key_id: int | None = None
    ip: str | None = None


def place(
    *,
    company: Company,
    quote: Quote,
    gateway: Gateway,
    by: Actor,
    return_url: str = "",
    idempotency_key: IdempotencyKey | None = None,
) -> Order:
    """An order, committed, and then opened with its provider."""
    if gateway.has_invoice and billing_profiles.for_company(company).missing:
        raise RequisitesNeededError
    order = Order(
        company=company,
        package=quote.package,
        tokens=quote.tokens,
        amount=quote.amount,
        currency=quote.currency,
        gateway=gateway.name,
        language=company.language,
        return_url=return_url,
        created_by=by.user,
        api_key_id=by.api_key_id,
        expires_at=timezone.now() + gateway.lifetime,
    )
    with transaction.atomic():
        if idempotency_key is not None:  # first, so that a twin waits here and not for a number
            idempotency.insert(idempotency_key, order.id)
        _write(order, gateway, by)
    return open_payment(order)


def _write(order: Order, gateway: Gateway, by: Actor) -> None:
    if Order.objects.of(order.company_id).open().count() >= settings.OPEN_ORDERS:
        raise DomainError(Error.INVALID_INPUT, message=TOO_MANY_UNPAID)
    seller = Seller.objects.first()
    order.vat_rate = seller.vat_rate if seller else None
    if gateway.has_invoice:
        order.parties = invoices.snapshot_parties(seller, order.company)
        order.invoice_year = timezone.localdate().year
        order.invoice_number = InvoiceCounter.take(order.invoice_year)
    order.save(force_insert=True)
    record("order.created", summary(order), company=order.company, user=by.user, ip=by.ip)


def open_payment(order: Order) -> Order:
    """Outside any transaction: it may call the provider. Repeated, it is one payment."""
    gateway = registry.find(order.gateway)
    if order.state != Order.State.CREATED or gateway is None:
        return order
    due = PaymentRequest(
        order_id=order.id.hex,
        amount=order.amount,
        currency=order.currency,
        title=title(order),
        return_url=order.return_url,
    )
    try:
        session = gateway.open(due)
    except GatewayError:
        raise DomainError(Error.UNAVAILABLE, retry_after=5) from None
    order.mark_opened(payment_id=session.payment_id, payment_url=session.payment_url)
    return order


@transaction.atomic
def cancel(*, order: Order, user: User, ip: str | None = None) -> bool:
    """False when it had ended already. Money that comes all the same is credited."""
    if not Order.objects.filter(pk=order.pk).end(Order.State.CANCELED):
        return False
    record("order.canceled", summary(order), company=order.company, user=user, ip=ip)
    return True


def expire() -> int:
    """What was not paid in time; how many there were."""
    return Order.objects.overdue().end(Order.State.EXPIRED)


def title(order: Order) -> str:
    """What is paid for, in the order's language."""
    with translation.override(order.language):
        text = ngettext("%(n)s token of Kvitok", "%(n)s tokens of Kvitok", order.tokens)
    return text % {"n": f"{order.tokens:,}".replace(",", " ")}


def summary(order: Order) -> str:
    return f"{order}: {order.tokens} = {order.amount} {order.currency}"
