"""Months closed for accounting, the documents issued for them, and their numbers."""

from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.models import Company
from billing.models.offer import CENT, optional
from billing.models.order import Order
from catalogue.ids import public_id, uuid7
from storage.months.calendar import last_day


class Lot(models.Model):
    """Tokens credited together, and their cost. They are used up oldest first.

    `used` and `withdrawn` count those of closed months. Only a withdrawal can be undone.
    """

    company = models.ForeignKey(
        Company, models.PROTECT, related_name="lots", db_index=False, verbose_name=_("company")
    )
    order = optional(Order, "lots", _("top-up"), db_index=False)
    transfer_key = models.CharField(_("transfer"), max_length=80)
    received_at = models.DateTimeField(_("received"))
    tokens = models.PositiveBigIntegerField(_("tokens"))
    used = models.PositiveBigIntegerField(_("used"), default=0)
    withdrawn = models.PositiveBigIntegerField(_("withdrawn"), default=0)
    # Zero and no currency: granted.
    amount = models.DecimalField(_("amount"), max_digits=14, decimal_places=2, default=Decimal(0))
    currency = models.CharField(_("currency"), max_length=3, blank=True)
    vat_rate = models.DecimalField(_("VAT, %"), max_digits=4, decimal_places=2, null=True)

    class Meta:
        verbose_name = _("lot of tokens")
        verbose_name_plural = _("lots of tokens")
        constraints = [
            models.CheckConstraint(
                condition=Q(tokens__gte=F("used") + F("withdrawn")), name="lot_has_no_more"
            ),
            models.UniqueConstraint(fields=["transfer_key"], name="lot_once"),
        ]
        indexes = [models.Index(fields=["company", "received_at", "id"], name="lot_of_company")]

    def __str__(self) -> str:
        return f"{self.tokens - self.left} / {self.tokens}"

    @property
    def left(self) -> int:
        return self.tokens - self.used - self.withdrawn

    def cost_of_first(self, tokens: int) -> Decimal:
        """The amount of the first tokens: the parts add up to the whole, to the cent."""
        return (self.amount * tokens / self.tokens).quantize(CENT, ROUND_HALF_UP)


class ClosedMonth(models.Model):
    """A company's balance, receipts and charges of a month that can no longer change.

    charges: [{"order": id in hex or "", "tokens", "amount", "currency", "vat_rate" or null}]
    money: {currency: {"opening", "received", "refunded", "charged", "closing"}}, what was prepaid
    """

    company = models.ForeignKey(
        Company,
        models.PROTECT,
        related_name="closed_months",
        db_index=False,
        verbose_name=_("company"),
    )
    month = models.DateField(_("month"))  # its first day
    opening = models.BigIntegerField(_("opening balance"))
    bought = models.BigIntegerField(_("bought"))
    granted = models.BigIntegerField(_("granted"))
    withdrawn = models.BigIntegerField(_("withdrawn"))
    spent = models.BigIntegerField(_("spent"))
    closing = models.BigIntegerField(_("closing balance"))
    charges = models.JSONField(_("charges"), default=list)
    money = models.JSONField(_("money"), default=dict)
    # The last seal of the month; its days are those of UTC.
    head = models.CharField(_("seal"), max_length=64, blank=True)
    # Whether documents are still to be issued: they wait for billing details.
    is_due = models.BooleanField(_("documents are due"), default=False)
    created_at = models.DateTimeField(_("closed"), db_default=Now())

    class Meta:
        verbose_name = _("closed month")
        verbose_name_plural = _("closed months")
        constraints = [
            models.UniqueConstraint(fields=["company", "month"], name="closed_month_once"),
            models.CheckConstraint(
                condition=Q(
                    closing=F("opening") + F("bought") + F("granted") - F("withdrawn") - F("spent")
                ),
                name="closed_month_adds_up",
            ),
        ]
        indexes = [
            models.Index(
                fields=["month", "company"], condition=Q(is_due=True), name="closed_month_due"
            )
        ]

    def __str__(self) -> str:
        return f"{self.month:%Y-%m}"

    @property
    def first_day(self) -> str:
        return f"{self.month:%Y-%m-%d}"

    @property
    def last_day(self) -> str:
        return f"{last_day(self.month):%Y-%m-%d}"


class DocumentQuerySet(models.QuerySet["Document"]):
    def for_company(self, company: Company | int) -> "DocumentQuerySet":
        return self.filter(company=company)


class Document(models.Model):
    """An issued document; it never changes.

    lines: [{"order", "title": invoice number and day or "", "tokens", "amount", "vat_rate", "vat"}]
    """

    class Kind(models.TextChoices):
        CLOSING = "closing", _("closing document")
        ADVANCE = "advance", _("advance invoice")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    company = models.ForeignKey(
        Company, models.PROTECT, related_name="documents", db_index=False, verbose_name=_("company")
    )
    kind = models.CharField(_("kind"), max_length=8, choices=Kind.choices)
    year = models.PositiveSmallIntegerField(_("year"))
    serial = models.PositiveIntegerField(_("number"))
    issued_on = models.DateField(_("date"))
    month = models.DateField(_("month"), null=True, blank=True)  # closing document only
    order = optional(Order, "documents", _("top-up"), db_index=False)  # advance invoice only
    tokens = models.PositiveBigIntegerField(_("tokens"))
    amount = models.DecimalField(_("amount"), max_digits=14, decimal_places=2)
    vat = models.DecimalField(_("VAT"), max_digits=14, decimal_places=2, null=True)
    currency = models.CharField(_("currency"), max_length=3)
    language = models.CharField(_("language"), max_length=2)
    lines = models.JSONField(_("lines"))
    parties = models.JSONField(_("parties"))  # snapshot of seller and buyer
    created_at = models.DateTimeField(_("issued"), default=timezone.now)

    objects = DocumentQuerySet.as_manager()

    class Meta:
        verbose_name = _("document")
        verbose_name_plural = _("documents")
        constraints = [
            models.UniqueConstraint(fields=["year", "serial"], name="document_number_once"),
            models.UniqueConstraint(
                fields=["company", "month", "currency"],
                condition=Q(kind="closing"),
                name="document_closes_once",
            ),
            models.UniqueConstraint(
                fields=["order"], condition=Q(kind="advance"), name="document_advance_once"
            ),
            models.CheckConstraint(
                condition=Q(kind="closing", month__isnull=False, order__isnull=True)
                | Q(kind="advance", month__isnull=True, order__isnull=False),
                name="document_of_month_or_order",
            ),
        ]
        indexes = [
            models.Index(
                F("company"), F("created_at").desc(), F("id").desc(), name="document_of_company"
            )
        ]

    def __str__(self) -> str:
        return self.number

    @property
    def number(self) -> str:
        """The number, such as 2026-17, in a separate series from invoices for payment."""
        return f"{self.year}-{self.serial}"

    @property
    def title(self) -> str:
        day = date_format(self.issued_on, "SHORT_DATE_FORMAT")
        if self.kind == self.Kind.ADVANCE:
            return gettext("Advance invoice %(number)s of %(day)s") % {"number": self, "day": day}
        return gettext("Document %(number)s") % {"number": self}

    @property
    def public_id(self) -> str:
        return public_id("doc", self.id)

    @property
    def seller(self) -> dict[str, Any]:
        return dict(self.parties["seller"])

    @property
    def buyer(self) -> dict[str, Any]:
        return dict(self.parties["buyer"])


class NumberCounter(models.Model):
    """The last number of a year. Its row is locked until the numbered document is committed."""

    year = models.PositiveSmallIntegerField(primary_key=True)
    last = models.PositiveIntegerField(default=0)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.year}-{self.last}"

    @classmethod
    def take(cls, year: int) -> int:
        """Takes the next number in the caller's transaction; a rollback leaves no gap."""
        cls._default_manager.get_or_create(year=year)
        counter = cls._default_manager.select_for_update().get(year=year)
        counter.last += 1
        counter.save(update_fields=["last"])
        return int(counter.last)


class InvoiceCounter(NumberCounter):
    """Numbers of invoices."""


class DocumentCounter(NumberCounter):
    """The last number of a year. All documents share it: those with VAT are invoices to the tax
    service, which requires one series of numbers.
    """
