"""Delivery receipts, and the parts of a long SMS, which get receipts of their own."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from channels.models.messages import Attempt


class Receipt(models.Model):
    """A vendor's delivery receipt with its raw body; parked until its attempt is known."""

    provider = models.CharField(_("provider"), max_length=40)
    digest = models.BinaryField(max_length=32, unique=True)  # recognises a repeat
    provider_id = models.CharField(_("provider's id"), max_length=200, blank=True)
    # Other spellings of the id, and the phone that identifies the right one. Only SMPP needs these.
    alternatives = ArrayField(
        models.CharField(max_length=200), verbose_name=_("other ids"), default=list, db_default=[]
    )
    phone = models.CharField(_("phone"), max_length=16, blank=True, db_default="")
    needs_phone = models.BooleanField(_("of its phone alone"), default=False, db_default=False)
    ref = models.UUIDField(_("our reference"), null=True)
    state = models.CharField(_("state"), max_length=12)
    word = models.CharField(_("provider's wording"), max_length=40)
    error_code = models.CharField(_("provider's code"), max_length=60, blank=True)
    error_detail = models.CharField(_("the provider's wording"), max_length=300, blank=True)
    at = models.DateTimeField(_("at the provider"), null=True)
    received_at = models.DateTimeField(_("received"), db_default=Now())
    # when to match it; null: done
    due_at = models.DateTimeField(_("due"), null=True, db_default=Now())
    applied_at = models.DateTimeField(_("applied"), null=True)
    attempt = models.ForeignKey(
        Attempt,
        models.CASCADE,
        null=True,
        related_name="receipts",
        db_constraint=False,
        verbose_name=_("attempt"),
    )
    raw = models.BinaryField()

    class Meta:
        verbose_name = _("receipt")
        verbose_name_plural = _("receipts")
        indexes = [
            models.Index(fields=["due_at"], name="receipt_due", condition=Q(due_at__isnull=False)),
            models.Index(fields=["received_at"], name="receipt_received"),
        ]

    def __str__(self) -> str:
        return f"{self.provider} {self.word}"


class Part(models.Model):
    """One part of a long SMS, which the vendor accepts and reports under its own id."""

    attempt = models.ForeignKey(
        Attempt, models.CASCADE, related_name="parts", db_index=False, db_constraint=False
    )
    number = models.PositiveSmallIntegerField()  # from 1
    total = models.PositiveSmallIntegerField()
    provider = models.CharField(max_length=40)
    provider_id = models.CharField(max_length=200)
    delivered_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["attempt", "number"], name="part_number"),
            models.UniqueConstraint(fields=["provider", "provider_id"], name="part_provider_id"),
        ]

    def __str__(self) -> str:
        return f"{self.number}/{self.total}"
