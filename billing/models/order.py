"""Orders of tokens, the payments received for them, and refunded money."""

import re
from collections.abc import Collection

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.expressions import RawSQL
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import ApiKey, Company, User
from billing.models.offer import Package, by_user, optional
from billing.signed_links import INVOICES
from catalogue.ids import parse_id, public_id, uuid7

OPEN = ("created", "pending")
# The number of an invoice or a document, as people type it.
NUMBER = re.compile(r"(?:№\s*)?(20\d\d)\s*[-–/]\s*(\d{1,9})", re.ASCII)
# The conditions of two partial indexes, as SQL: connections cache plans for any parameters, which
# cannot assume these values.
IS_OPEN = "billing_order.state IN ('created', 'pending')"
NEEDS_REVIEW = "billing_payment.settled_at IS NULL AND NOT billing_payment.problem = ''"


# Anybody can name an order in a transfer of a kopeck: the order counts only its buyer's transfers,
# and transfers of the exact amount.
IS_OF_ORDER = """((billing_banktransfer.party_inn = billing_order.parties -> 'buyer' ->> 'inn'
    AND NOT billing_banktransfer.party_inn = '')
  OR (billing_banktransfer.amount, billing_banktransfer.currency)
    = (billing_order.amount, billing_order.currency))"""
# Uses the indexes on an order's rows. Late money is credited, so nobody waits for it.
HAS_PAYMENT_IN_REVIEW = f"""EXISTS (SELECT FROM billing_payment WHERE order_id = billing_order.id
  AND {NEEDS_REVIEW} AND NOT problem = 'late')
OR EXISTS (SELECT FROM billing_banktransfer WHERE order_id = billing_order.id
  AND billing_banktransfer.state = 'review' AND direction = 'in' AND {IS_OF_ORDER})"""  # noqa: S608 - constants


def _literally(condition: str) -> RawSQL:
    return RawSQL(condition, (), output_field=models.BooleanField())  # noqa: S611 - a constant


class OrderQuerySet(models.QuerySet["Order"]):
    def for_company(self, company: Company | int) -> "OrderQuerySet":
        return self.filter(company=company)

    def open(self) -> "OrderQuerySet":
        return self.filter(_literally(IS_OPEN))

    def named(self, text: str) -> "OrderQuerySet | None":
        """Orders with this invoice number or id; None if the text is neither."""
        if match := NUMBER.fullmatch(text.strip()):
            return self.filter(invoice_year=match[1], invoice_number=match[2])
        order_id = parse_id("top", text.strip().lower())
        return self.filter(pk=order_id) if order_id else None

    def overdue(self, pollable: Collection[str] = ()) -> "OrderQuerySet":
        """Orders past their end; with `pollable` providers only once polled after it."""
        not_polled = Q(asked_at=None) | Q(asked_at__lt=F("expires_at"))
        may_be_paid = Q(gateway__in=pollable) & ~Q(payment_id="") & not_polled
        return self.open().filter(expires_at__lt=Now()).exclude(may_be_paid)

    def with_payments_in_review(self) -> "OrderQuerySet":
        """Annotates orders whose money waits for the operator: `has_payment_in_review`."""
        condition = RawSQL(HAS_PAYMENT_IN_REVIEW, (), output_field=models.BooleanField())  # noqa: S611
        return self.annotate(has_payment_in_review=condition)

    def invoices(self) -> "OrderQuerySet":
        return self.filter(invoice_number__isnull=False)

    def end(self, state: "Order.State") -> int:
        """Closes open orders."""
        return self.open().update(state=state, finished_at=timezone.now())


class Order(models.Model):
    """A top-up. Once paid, it has one transfer in the ledger under `transfer_key`."""

    class State(models.TextChoices):
        CREATED = "created", _("being prepared")
        PENDING = "pending", _("waiting for payment")
        PAID = "paid", _("paid")
        CANCELED = "canceled", _("cancelled")
        EXPIRED = "expired", _("expired")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    company = models.ForeignKey(
        Company, models.PROTECT, related_name="orders", db_index=False, verbose_name=_("company")
    )
    package = models.ForeignKey(
        Package, models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("package")
    )
    tokens = models.PositiveBigIntegerField(_("tokens"))
    amount = models.DecimalField(_("amount"), max_digits=14, decimal_places=2)
    currency = models.CharField(_("currency"), max_length=3)
    vat_rate = models.DecimalField(_("VAT, %"), max_digits=4, decimal_places=2, null=True)
    gateway = models.CharField(_("payment method"), max_length=20)
    state = models.CharField(_("state"), max_length=8, choices=State.choices, default=State.CREATED)
    # The provider's id of the payment; empty until the provider has answered.
    payment_id = models.CharField(_("provider's payment"), max_length=120, blank=True)
    payment_url = models.CharField(_("payment page"), max_length=2000, blank=True)
    return_url = models.CharField(_("return address"), max_length=500, blank=True)
    language = models.CharField(_("language"), max_length=2, default=settings.LANGUAGE_CODE)
    invoice_year = models.PositiveSmallIntegerField(_("year of the invoice"), null=True, blank=True)
    invoice_number = models.PositiveIntegerField(_("invoice number"), null=True, blank=True)
    parties = models.JSONField(_("parties"), default=dict)  # snapshot of seller and buyer
    created_by = by_user(_("created by"))
    api_key = models.ForeignKey(
        ApiKey, models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("API key")
    )
    created_at = models.DateTimeField(_("created"), default=timezone.now)
    expires_at = models.DateTimeField(_("to be paid by"))
    paid_at = models.DateTimeField(_("paid"), null=True, blank=True)
    finished_at = models.DateTimeField(_("finished"), null=True, blank=True)
    # The time of the last poll of the provider; see `billing.orders.polling`.
    asked_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = OrderQuerySet.as_manager()

    class Meta:
        verbose_name = _("top-up")
        verbose_name_plural = _("top-ups")
        constraints = [
            models.CheckConstraint(
                condition=Q(tokens__gt=0, amount__gt=0), name="order_costs_something"
            ),
            models.CheckConstraint(
                condition=Q(state="paid", paid_at__isnull=False)
                | (~Q(state="paid") & Q(paid_at__isnull=True)),
                name="order_paid_has_time",
            ),
            models.UniqueConstraint(
                fields=["gateway", "payment_id"],
                condition=~Q(payment_id=""),
                name="order_payment_once",
            ),
            models.UniqueConstraint(
                fields=["invoice_year", "invoice_number"], name="order_invoice_once"
            ),
        ]
        indexes = [
            models.Index(
                F("company"), F("created_at").desc(), F("id").desc(), name="order_of_company"
            ),
            models.Index(fields=["expires_at"], condition=Q(state__in=OPEN), name="order_open"),
        ]

    def __str__(self) -> str:
        return self.number or self.public_id

    @property
    def public_id(self) -> str:
        return public_id("top", self.id)

    @property
    def payment_page(self) -> str:
        """The address of the payment page, or "". An invoice's link is signed at each call."""
        if self.invoice_number:
            return f"{settings.PUBLIC_URL}/invoices/{INVOICES.token(self.id)}"
        return self.payment_url

    @property
    def number(self) -> str:
        """The invoice number, such as 2026-17; empty for an order without an invoice."""
        return f"{self.invoice_year}-{self.invoice_number}" if self.invoice_number else ""

    @property
    def transfer_key(self) -> str:
        return f"top_up:{self.id.hex}"

    @property
    def is_open(self) -> bool:
        return self.state in OPEN

    def mark_opened(self, *, payment_id: str, payment_url: str) -> None:
        """Stores the payment unless another process opened one first, or the order has ended."""
        Order.objects.filter(pk=self.pk, state=self.State.CREATED).update(
            state=self.State.PENDING, payment_id=payment_id, payment_url=payment_url
        )
        self.refresh_from_db(fields=["state", "payment_id", "payment_url"])

    def mark_paid(self) -> None:
        self.state = self.State.PAID
        self.paid_at = timezone.now()
        self.finished_at = self.paid_at
        self.save(update_fields=["state", "paid_at", "finished_at"])


class PaymentQuerySet(models.QuerySet["Payment"]):
    def needs_review(self) -> "PaymentQuerySet":
        return self.filter(_literally(NEEDS_REVIEW))


class Payment(models.Model):
    """A payment reported by a provider or the bank, stored once. `problem` requests a review."""

    class Problem(models.TextChoices):
        LATE = "late", _("late: the order had ended, the tokens are credited")
        WRONG_AMOUNT = "wrong_amount", _("another amount: nothing is credited")
        WRONG_CURRENCY = "wrong_currency", _("another currency: nothing is credited")
        SECOND = "second", _("the order was paid already: nothing is credited")
        UNKNOWN_ORDER = "unknown_order", _("no such order: nothing is credited")
        DELETED = "deleted", _("the company is deleted: nothing is credited")

    class Resolution(models.TextChoices):
        CREDITED = "credited", _("credited")
        RETURNED = "returned", _("returned to the payer")
        CLOSED = "closed", _("closed")

    gateway = models.CharField(_("payment method"), max_length=20)
    payment_id = models.CharField(_("provider's payment"), max_length=120)
    order = optional(Order, "payments", _("top-up"))
    amount = models.DecimalField(_("amount"), max_digits=14, decimal_places=2)
    currency = models.CharField(_("currency"), max_length=3)
    is_credited = models.BooleanField(_("credited"), default=False)
    problem = models.CharField(_("problem"), max_length=16, choices=Problem.choices, blank=True)
    # The number of the bank transfer, or the provider's second id, which refunds refer to.
    reference = models.CharField(_("bank reference"), max_length=60, blank=True)
    paid_on = models.DateField(_("paid on"), null=True, blank=True)
    confirmed_by = by_user(_("confirmed by"))
    settled_at = models.DateTimeField(_("settled"), null=True, blank=True)
    settled_by = by_user(_("settled by"))
    resolution = models.CharField(
        _("resolution"),
        max_length=8,
        choices=Resolution.choices,
        blank=True,
        default="",
        db_default="",
    )
    # The operator's note at settlement, which the company reads.
    note = models.CharField(_("note"), max_length=200, blank=True, default="", db_default="")
    created_at = models.DateTimeField(_("time"), default=timezone.now)

    objects = PaymentQuerySet.as_manager()

    class Meta:
        verbose_name = _("payment")
        verbose_name_plural = _("payments")
        constraints = [
            models.UniqueConstraint(fields=["gateway", "payment_id"], name="payment_once"),
            models.UniqueConstraint(
                fields=["order"], condition=Q(is_credited=True), name="payment_credits_order_once"
            ),
        ]
        indexes = [
            models.Index(
                fields=["created_at"],
                condition=Q(settled_at=None) & ~Q(problem=""),
                name="payment_needs_review",
            )
        ]

    def __str__(self) -> str:
        return f"{self.amount} {self.currency} {self.payment_id}"

    def mark_settled(self, user: User, resolution: str, note: str = "") -> None:
        self.settled_at = timezone.now()
        self.settled_by = user
        self.resolution = resolution
        self.note = note
        self.save(update_fields=["settled_at", "settled_by", "resolution", "note"])

    @property
    def tokens_to_credit(self) -> int:
        """The tokens that the sum buys at the order's price; 0 if unknown, or if it is credited."""
        order = self.order
        if order is None or self.is_credited or self.currency != order.currency:
            return 0
        return int(order.tokens * self.amount / order.amount)


class RefundQuerySet(models.QuerySet["Refund"]):
    def needs_review(self) -> "RefundQuerySet":
        """Refunds whose tokens were spent, whose payment is unknown, or whose money does not fit
        the payment; and disputes that were won after the operator had settled them.
        """
        needs_review = Q(payment=None) | Q(taken__lt=F("tokens")) | ~Q(problem="")
        is_open = Q(returned_at=None) | Q(problem=Refund.Problem.WON)
        return self.filter(needs_review, is_open, settled_at=None)


class Refund(models.Model):
    """A refund, stored once per provider's id.

    `taken` may be less than `tokens`: the rest were spent.
    """

    class Problem(models.TextChoices):
        OTHER_CURRENCY = "other_currency", _("another currency than was paid: nothing is taken")
        MORE = "more", _("more than was paid: no more is taken than was bought")
        WON = "won", _("the dispute was won: give back what you deducted by hand")

    gateway = models.CharField(_("payment method"), max_length=20)
    refund_id = models.CharField(_("provider's refund"), max_length=120)
    # The provider's id of the payment, whose webhook may arrive later.
    payment_reference = models.CharField(_("provider's payment"), max_length=120)
    payment = optional(Payment, "refunds", _("payment"))
    amount = models.DecimalField(_("amount"), max_digits=14, decimal_places=2)
    currency = models.CharField(_("currency"), max_length=3)
    tokens = models.PositiveBigIntegerField(_("tokens"), default=0)
    taken = models.PositiveBigIntegerField(_("tokens taken back"), default=0)
    created_at = models.DateTimeField(_("time"), db_default=Now())
    returned_at = models.DateTimeField(_("dispute won"), null=True, blank=True)
    problem = models.CharField(
        _("problem"), max_length=16, choices=Problem.choices, blank=True, default="", db_default=""
    )
    settled_at = models.DateTimeField(_("settled"), null=True, blank=True)
    note = models.CharField(_("note"), max_length=200, blank=True, default="", db_default="")

    objects = RefundQuerySet.as_manager()

    class Meta:
        verbose_name = _("refund")
        verbose_name_plural = _("refunds")
        constraints = [
            models.UniqueConstraint(fields=["gateway", "refund_id"], name="refund_once"),
            models.CheckConstraint(
                condition=Q(taken__lte=F("tokens")), name="refund_takes_no_more"
            ),
        ]
        indexes = [
            models.Index(
                fields=["gateway", "payment_reference"],
                condition=Q(payment=None),
                name="refund_without_payment",
            )
        ]

    def __str__(self) -> str:
        return f"{self.amount} {self.currency} {self.refund_id}"

    @property
    def owed(self) -> int:
        """Tokens that were spent before the money went back."""
        return self.tokens - self.taken

    @property
    def transfer_key(self) -> str:
        return f"refund:{self.gateway}:{self.pk}"
