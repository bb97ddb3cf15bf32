"""Money that went back to a payer, or was taken by a dispute, and the tokens taken for it."""

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from billing.models.order import Payment


class RefundQuerySet(models.QuerySet["Refund"]):
    def needs_review(self) -> "RefundQuerySet":
        """Whose tokens were spent, whose payment is not known, or whose money does not fit it."""
        is_odd = Q(payment=None) | Q(taken__lt=F("tokens")) | ~Q(problem="")
        return self.filter(is_odd, returned_at=None, settled_at=None)


class Refund(models.Model):
    """Once per provider's id. `taken` may be less than `tokens`: the others were spent."""

    class Problem(models.TextChoices):
        OTHER_CURRENCY = "other_currency", _("another currency than was paid: nothing is taken")
        MORE = "more", _("more than was paid: no more is taken than was bought")

    gateway = models.CharField(_("payment method"), max_length=20)
    refund_id = models.CharField(_("provider's refund"), max_length=120)
    # By which the provider names the payment; its notice may still be on the way.
    payment_reference = models.CharField(_("provider's payment"), max_length=120)
    payment = models.ForeignKey(
        Payment,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="refunds",
        verbose_name=_("payment"),
    )
    amount = models.DecimalField(_("amount"), max_digits=14, decimal_places=2)
    currency = models.CharField(_("currency"), max_length=3)
    tokens = models.PositiveBigIntegerField(_("tokens"), default=0)
    taken = models.PositiveBigIntegerField(_("tokens taken back"), default=0)
    created_at = models.DateTimeField(_("time"), db_default=Now())
    returned_at = models.DateTimeField(_("dispute won"), null=True, blank=True)
    problem = models.CharField(
        _("problem"),
        max_length=16,
        choices=Problem.choices,
        blank=True,
        default="",
        db_default="",
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
