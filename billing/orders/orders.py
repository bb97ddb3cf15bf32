"""Places, opens, cancels and expires orders of tokens. `payments` pays them."""

from dataclasses import replace
from datetime import timedelta

import structlog
from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.audit import Changes, record
from accounts.models import Company, Member, User
from api import idempotency
from api.idempotency import IdempotencyKey
from billing.gateways import registry
from billing.gateways.base import Buyer, Gateway, GatewayError, PaymentRequest
from billing.gateways.http import RefusedByProviderError
from billing.models import BillingProfile, MethodSaving, Order, Seller
from billing.orders import invoices
from billing.orders.prices import Quote
from catalogue.errors import DomainError, Error
from catalogue.texts import StrOrPromise

log = structlog.get_logger(__name__)

COMPANY_DELETED = _("The company is deleted")
TOO_MANY_UNPAID = _("Too many unpaid top-ups: pay or cancel the earlier ones")
# Per day: each takes an invoice number and leaves permanent rows.
MAX_ENDED_UNPAID = 100
ENDED_UNPAID = (Order.State.CANCELED, Order.State.EXPIRED)
TOO_MANY_ENDED = _("Too many top-ups were abandoned today: try again tomorrow")
UNSUITABLE_AMOUNT = _("This payment method does not accept this amount: choose another")
REFUSED = _("The payment provider refused this top-up: choose another amount or payment method")
# These statuses say what is wrong with the request, others that our account is at fault.
REFUSAL_STATUSES = {400, 422}
OTHER_CURRENCY = _("This payment method does not accept {currency}: choose another")
BILLING_DETAILS_NEEDED = _("An invoice needs the buyer's billing details; fill them in: {url}")


class BillingDetailsNeededError(DomainError):
    """An invoice needs the buyer's billing details."""

    def __init__(self) -> None:
        url = f"{settings.PUBLIC_URL}{reverse('balance-profile')}"
        text = format_lazy(BILLING_DETAILS_NEEDED, url=url)
        super().__init__(Error.INVALID_INPUT, message=text, errors={"gateway": [text]})


def unsuitable_reason(gateway: Gateway, quote: Quote) -> StrOrPromise:
    """The reason why this payment method does not take this sum, or empty."""
    if not gateway.takes(quote.currency):
        return format_lazy(OTHER_CURRENCY, currency=quote.currency)
    return "" if gateway.takes(quote.currency, quote.amount) else UNSUITABLE_AMOUNT


def place(
    *,
    company: Company,
    quote: Quote,
    gateway: Gateway,
    user: User | None = None,
    api_key_id: int | None = None,
    ip: str | None = None,
    return_url: str = "",
    idempotency_key: IdempotencyKey | None = None,
    saves_method: bool = False,
) -> Order:
    """Places an order for a member or an API key, and opens its payment with the provider."""
    if text := unsuitable_reason(gateway, quote):
        raise DomainError(Error.INVALID_INPUT, message=text, errors={"gateway": [text]})
    order = new_order(company, quote, gateway)
    order.return_url = return_url
    order.created_by = user
    order.api_key_id = api_key_id
    with transaction.atomic():
        # First, so that a duplicate call waits here and takes no invoice number.
        if idempotency_key is not None:
            idempotency.insert(idempotency_key, order.id)
        insert(order, gateway, ip=ip)
        _require_few_unpaid(company)
        if saves_method and gateway.saves_methods:
            MethodSaving.objects.create(order=order)
    return open_payment(order, idempotency_key)


def new_order(company: Company, quote: Quote, gateway: Gateway) -> Order:
    """A new order, not inserted yet."""
    return Order(
        company=company,
        package=quote.package,
        tokens=quote.tokens,
        amount=quote.amount,
        currency=quote.currency,
        gateway=gateway.name,
        expires_at=timezone.now() + gateway.lifetime,
    )


def insert(order: Order, gateway: Gateway, *, ip: str | None = None) -> None:
    """Inserts a new order in the caller's transaction, with its invoice number, if any, and the
    values that depend on the buyer's present billing details.
    """
    # Parallel orders of a company are serialised here; otherwise each would be within the limits.
    company = Company.objects.select_for_update(no_key=True).get(pk=order.company_id)
    if company.deleted_at is not None:  # since the call's key was read
        raise DomainError(Error.FORBIDDEN, message=COMPANY_DELETED)
    profile = BillingProfile.for_company(order.company)
    if gateway.has_invoice and profile.missing:
        raise BillingDetailsNeededError
    seller = Seller.objects.first()
    order.language = profile.effective_language
    order.vat_rate = invoices.rate_of(seller, profile, timezone.localdate())
    # the country where its VAT is due
    order.parties = {"buyer": {"country": profile.effective_country}}
    if gateway.has_invoice:
        order.parties = invoices.snapshot_parties(seller, profile)
        invoices.assign_number(order)
    order.save(force_insert=True)
    user = order.created_by
    bought = audited_values(order)
    record("order.created", order, company=order.company, user=user, ip=ip, changes=bought)


def _require_few_unpaid(company: Company) -> None:
    """Limits the orders of people and keys, under the lock of `insert`. Automatic ones have limits
    of their own, and must not stop because others are unpaid.
    """
    placed = Order.objects.for_company(company)
    if placed.open().count() > settings.MAX_OPEN_ORDERS:
        raise DomainError(Error.INVALID_INPUT, message=TOO_MANY_UNPAID)
    recent = placed.filter(created_at__gt=timezone.now() - timedelta(days=1))
    if recent.filter(state__in=ENDED_UNPAID).count() >= MAX_ENDED_UNPAID:
        raise DomainError(Error.INVALID_INPUT, message=TOO_MANY_ENDED)


def open_payment(order: Order, idempotency_key: IdempotencyKey | None = None) -> Order:
    """Opens the payment once, even if called again. Called outside transactions.

    It may wait for the provider. If that refuses the order, its `idempotency_key` may have another
    effect.
    """
    gateway = registry.find(order.gateway)
    if order.state != Order.State.CREATED or gateway is None:
        return order
    saves_method = gateway.saves_methods and MethodSaving.objects.filter(order=order).exists()
    try:
        session = gateway.open(replace(payment_request(order), saves_method=saves_method))
    except GatewayError as error:
        log.warning("payment_not_opened", order=order.public_id, error=str(error))
        if isinstance(error, RefusedByProviderError) and error.status in REFUSAL_STATUSES:
            _end_refused(order, idempotency_key)
            raise DomainError(
                Error.INVALID_INPUT, message=REFUSED, errors={"gateway": [REFUSED]}
            ) from None
        raise DomainError(Error.UNAVAILABLE, retry_after=5) from None
    order.mark_opened(payment_id=session.payment_id, payment_url=session.payment_url)
    return order


@transaction.atomic
def _end_refused(order: Order, idempotency_key: IdempotencyKey | None) -> None:
    Order.objects.filter(pk=order.pk).end(Order.State.CANCELED)
    if idempotency_key is not None:
        idempotency.forget(idempotency_key, order.id)


def payment_request(order: Order) -> PaymentRequest:
    page = reverse("balance-order", args=[order.public_id])
    return PaymentRequest(
        order_id=order.id.hex,
        amount=order.amount,
        currency=order.currency,
        title=title(order),
        return_url=order.return_url or f"{settings.PUBLIC_URL}{page}",
        buyer=_buyer(order),
        vat_rate=order.vat_rate,
    )


def _buyer(order: Order) -> Buyer:
    """The payer for receipts, which only persons get: a Russian company's INN has ten digits."""
    profile = BillingProfile.for_company(order.company)
    email = profile.email or (order.created_by.email if order.created_by else "")
    if not email:
        owners = order.company.members.filter(role=Member.Role.OWNER).order_by("created_at")
        email = owners.values_list("user__email", flat=True).first() or ""
    return Buyer(email, is_person=profile.effective_country == "RU" and len(profile.inn) != 10)


@transaction.atomic
def cancel(*, order: Order, user: User, ip: str | None = None) -> bool:
    """Cancels the order; False if it has ended already. A late payment is still credited."""
    if not Order.objects.filter(pk=order.pk).end(Order.State.CANCELED):
        return False
    bought = audited_values(order)
    record("order.canceled", order, company=order.company, user=user, ip=ip, changes=bought)
    return True


def expire() -> int:
    """Expires orders not paid in time; returns the count."""
    return Order.objects.overdue(registry.pollable()).end(Order.State.EXPIRED)


def title(order: Order) -> str:
    """Describes the purchase in the order's language."""
    with translation.override(order.language):
        text = ngettext("%(n)s token of Kvitok", "%(n)s tokens of Kvitok", order.tokens)
    return text % {"n": f"{order.tokens:,}".replace(",", " ")}


def audited_values(order: Order) -> Changes:
    """The values of an order in the audit log, besides its number."""
    return {"tokens": [None, order.tokens], "amount": [None, f"{order.amount} {order.currency}"]}
