"""Lines of the bank account's statement, and the payment that each of them made."""

from django.db import models
from django.db.models import Q
from django.db.models.expressions import RawSQL
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from billing.models.offer import by_user, optional
from billing.models.order import Order, Payment

# The condition of a partial index, as SQL: see `billing.models.order`.
WAITS = "billing_banktransfer.state = 'review'"


class BankTransferQuerySet(models.QuerySet["BankTransfer"]):
    def needs_review(self) -> "BankTransferQuerySet":
        condition = RawSQL(WAITS, (), output_field=models.BooleanField())  # noqa: S611 - a constant
        return self.filter(condition)


class BankTransfer(models.Model):
    """A line of a statement, stored once whichever source it came from."""

    class Direction(models.TextChoices):
        INCOMING = "in", _("incoming")
        OUTGOING = "out", _("outgoing")

    class State(models.TextChoices):
        MATCHED = "matched", _("matched")
        REVIEW = "review", _("waits for a decision")
        ASSIGNED = "assigned", _("assigned by the operator")
        RETURNED = "returned", _("returned to the payer")
        DISMISSED = "dismissed", _("not a top-up")

    class Problem(models.TextChoices):
        UNKNOWN_ORDER = "unknown_order", _("names none of our invoices and top-ups")
        SEVERAL = "several", _("names several invoices")
        WRONG_AMOUNT = "wrong_amount", _("another amount")
        WRONG_CURRENCY = "wrong_currency", _("another currency")
        WRONG_PAYER = "wrong_payer", _("another payer than the invoice names")
        SECOND = "second", _("the invoice was paid already")
        CANCELED = "canceled", _("the invoice was cancelled")
        REFUND = "refund", _("money went back: take the tokens back?")

    key = models.CharField(max_length=64, editable=False)
    direction = models.CharField(_("direction"), max_length=3, choices=Direction.choices)
    source = models.CharField(_("source"), max_length=10)
    account = models.CharField(_("our account"), max_length=22)
    document_number = models.CharField(_("payment order"), max_length=30, blank=True)
    booked_on = models.DateField(_("date"))
    amount = models.DecimalField(_("amount"), max_digits=14, decimal_places=2)
    currency = models.CharField(_("currency"), max_length=3)
    party_name = models.CharField(_("payer or payee"), max_length=200, blank=True)
    party_inn = models.CharField(_("INN"), max_length=12, blank=True)
    party_account = models.CharField(_("payer's or payee's account"), max_length=34, blank=True)
    purpose = models.CharField(_("purpose of the payment"), max_length=500, blank=True)
    state = models.CharField(_("state"), max_length=9, choices=State.choices)
    problem = models.CharField(_("problem"), max_length=16, choices=Problem.choices, blank=True)
    order = optional(Order, "bank_transfers", _("top-up"))
    payment = optional(Payment, "bank_transfers", _("payment"))
    settled_at = models.DateTimeField(_("settled"), null=True, blank=True)
    settled_by = by_user(_("settled by"))
    created_at = models.DateTimeField(_("time"), default=timezone.now)

    objects = BankTransferQuerySet.as_manager()

    class Meta:
        verbose_name = _("bank transfer")
        verbose_name_plural = _("bank transfers")
        constraints = [
            models.CheckConstraint(condition=Q(amount__gt=0), name="bank_transfer_moves_money"),
            # Not `unique=True`, for which Django creates a second index.
            models.UniqueConstraint(fields=["key"], name="bank_transfer_once"),
            models.UniqueConstraint(
                fields=["payment"],
                condition=Q(direction="in", payment__isnull=False),
                name="bank_transfer_of_payment_once",
            ),
        ]
        indexes = [
            models.Index(fields=["id"], condition=Q(state="review"), name="bank_transfer_waits")
        ]

    def __str__(self) -> str:
        return f"{self.amount} {self.currency} {self.booked_on:%d.%m.%Y} {self.document_number}"

    @property
    def payment_key(self) -> str:
        """The id of the payment, unique among those of a payment method."""
        return f"transfer:{self.key}"


class StatementMark(models.Model):
    """The time up to which an account's statement has been read. Each reader locks this row."""

    account = models.CharField(max_length=22)
    read_until = models.DateTimeField(null=True)
    read_at = models.DateTimeField(null=True)  # the last reading that succeeded
    tried_at = models.DateTimeField(null=True)
    noticed_at = models.DateTimeField(null=True)  # time of the last webhook about new operations
    error = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account"], name="statement_mark_of_account_once")
        ]

    def __str__(self) -> str:
        return self.account
