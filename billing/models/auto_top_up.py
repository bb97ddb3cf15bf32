"""Automatic top-ups: a company's consent, its payment method, and the orders placed."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import Company
from billing.models.offer import CENT, Package, by_user
from billing.models.order import Order

MAX_PER_DAY = 10


class SavedMethod(models.Model):
    """A card or account that the provider stores for the company; we only have its token."""

    company = models.OneToOneField(
        Company, models.PROTECT, primary_key=True, verbose_name=_("company")
    )
    gateway = models.CharField(_("payment method"), max_length=20)
    method_id = models.CharField(max_length=200)
    customer_id = models.CharField(max_length=200, blank=True)
    brand = models.CharField(_("brand"), max_length=60, blank=True)
    last4 = models.CharField(_("last digits"), max_length=4, blank=True)
    saved_at = models.DateTimeField(_("saved"), default=timezone.now)

    class Meta:
        verbose_name = _("saved payment method")
        verbose_name_plural = _("saved payment methods")

    def __str__(self) -> str:
        return f"{self.brand} •••• {self.last4}" if self.last4 else self.brand or self.gateway


class AutoTopUp(models.Model):
    """When to top up automatically, what to buy, and how often at most. A pause lasts until
    somebody resumes it.
    """

    class Pause(models.TextChoices):
        DECLINED = "declined", _("the payment was declined")
        UNPAID = "unpaid", _("the last top-up was cancelled or not paid in time")
        NO_PRICE = "no_price", _("what it buys is no longer on sale")
        BILLING_DETAILS = "billing_details", _("an invoice needs the company's billing details")
        NO_GATEWAY = "no_gateway", _("the payment method is no longer available")
        CURRENCY = "currency", _("prices are in another currency than the one you agreed to")
        PRICE = "price", _("one top-up now costs more than you allowed a month")
        REFUNDED = "refunded", _("the money of a top-up was returned or disputed")
        NOT_SAVED = "not_saved", _("the payment did not save the card or account")
        RESTORED = "restored", _("the service was restored from a backup")

    NEW_TERMS = (Pause.CURRENCY, Pause.PRICE)  # the old terms cannot resume it

    company = models.OneToOneField(
        Company, models.PROTECT, primary_key=True, verbose_name=_("company")
    )
    is_enabled = models.BooleanField(_("on"), default=False)
    threshold = models.PositiveBigIntegerField(_("when fewer tokens are available than"))
    package = models.ForeignKey(
        Package, models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("package")
    )
    tokens = models.PositiveBigIntegerField(_("tokens"), null=True, blank=True)
    gateway = models.CharField(_("payment method"), max_length=20)
    max_orders_per_day = models.PositiveSmallIntegerField(
        _("times a day, at most"), validators=[MinValueValidator(1), MaxValueValidator(MAX_PER_DAY)]
    )
    max_amount_per_month = models.DecimalField(
        _("sum a month, at most"),
        max_digits=14,
        decimal_places=2,
        validators=[MinValueValidator(CENT)],
    )
    # The currency of `max_amount_per_month`: nothing is bought in another one, or while it is
    # unknown (empty).
    currency = models.CharField(
        _("currency"), max_length=3, blank=True, default="", db_default="", editable=False
    )
    consented_by = by_user(_("agreed by"))
    consented_at = models.DateTimeField(_("agreed"), null=True, blank=True)
    # Top-ups that failed before do not pause it again.
    resumed_at = models.DateTimeField(default=timezone.now, editable=False)
    paused_at = models.DateTimeField(_("paused"), null=True, blank=True)
    paused_for = models.CharField(
        _("paused because"), max_length=16, choices=Pause.choices, blank=True
    )

    class Meta:
        verbose_name = _("automatic top-up")
        verbose_name_plural = _("automatic top-ups")
        indexes = [
            models.Index(
                fields=["company"],
                condition=Q(is_enabled=True, paused_at=None),
                name="auto_top_up_active",
            )
        ]

    def __str__(self) -> str:
        return f"{self.company}: < {self.threshold}"

    @property
    def can_resume(self) -> bool:
        """Whether it can be resumed with the same terms."""
        return self.paused_at is not None and self.paused_for not in self.NEW_TERMS


class AutomaticOrder(models.Model):
    """An automatic order. The key by day and number keeps workers from buying twice."""

    order = models.OneToOneField(
        Order, models.PROTECT, primary_key=True, related_name="automatic", verbose_name=_("top-up")
    )
    company = models.ForeignKey(Company, models.PROTECT, related_name="+", db_index=False)
    day = models.DateField()
    number = models.PositiveSmallIntegerField()  # of the day
    # Id of the saved method: a repeated charge must use the same one.
    method_id = models.CharField(max_length=200, blank=True)
    customer_id = models.CharField(max_length=200, blank=True)
    tried_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        verbose_name = _("automatic order")
        verbose_name_plural = _("automatic orders")
        constraints = [
            models.UniqueConstraint(
                fields=["company", "day", "number"], name="automatic_order_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.number}"


class MethodSaving(models.Model):
    """An order whose payment saves the method, until the result is known."""

    order = models.OneToOneField(Order, models.CASCADE, primary_key=True, related_name="saving")

    class Meta:
        verbose_name = _("payment that saves its method")
        verbose_name_plural = _("payments that save their method")

    def __str__(self) -> str:
        return str(self.order_id)
