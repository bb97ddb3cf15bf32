"""Days of transfers, closed and chained by hash, and the progress of full checks of the books."""

from datetime import date, timedelta

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from accounts.models import Company


class SealQuerySet(models.QuerySet["Seal"]):
    def last_of_months(self) -> "SealQuerySet":
        """The last seal of each month that is sealed to its end."""
        sealed = SealedDay.last()
        if sealed is None:
            return self.none()
        later = Seal.objects.filter(
            company=models.OuterRef("company"),
            day__gt=models.OuterRef("day"),
            day__year=models.OuterRef("day__year"),
            day__month=models.OuterRef("day__month"),
        )
        first_open_day = sealed + timedelta(days=1)
        return self.filter(~models.Exists(later), day__lt=first_open_day.replace(day=1))


class Seal(models.Model):
    """A company's transfers on one UTC day, chained to those of all days before.

    `sealing` writes it, once, when no further transfer of that day can appear. Its parts are split
    by the month of the message, so that a month can leave the database and the rest stays provable:
    {"month": "2026-10" or "", "transfers", "available", "held", "digest"}.
    """

    company = models.ForeignKey(
        Company,
        models.PROTECT,
        related_name="seals",
        db_index=False,
        db_constraint=False,  # otherwise each insert would lock the company's row
        verbose_name=_("company"),
    )
    day = models.DateField(_("day"))
    parts = models.JSONField(_("parts"))
    # Totals at the end of the day, since the beginning.
    transfers = models.BigIntegerField(_("transfers"))
    available = models.BigIntegerField(_("available"))
    held = models.BigIntegerField(_("held"))
    head = models.CharField(_("head"), max_length=64)
    created_at = models.DateTimeField(_("sealed"), db_default=Now())

    objects = SealQuerySet.as_manager()

    class Meta:
        verbose_name = _("seal")
        verbose_name_plural = _("seals")
        constraints = [models.UniqueConstraint(fields=["company", "day"], name="seal_once")]
        indexes = [models.Index(fields=["day", "id"], name="seal_newest")]

    def __str__(self) -> str:
        return f"{self.day}: {self.head[:12]}"

    @property
    def balance(self) -> int:
        return self.available + self.held


class SealedDay(models.Model):
    """A day on which every company's transfers are sealed; its head covers the heads of all.

    A copy stored elsewhere reveals a removed company or seal.
    """

    day = models.DateField(_("day"), unique=True)
    companies = models.IntegerField(_("companies"))  # companies with a seal of this day
    head = models.CharField(_("head"), max_length=64)
    created_at = models.DateTimeField(_("sealed"), db_default=Now())

    class Meta:
        verbose_name = _("sealed day")
        verbose_name_plural = _("sealed days")

    def __str__(self) -> str:
        return f"{self.day}: {self.head[:12]}"

    @staticmethod
    def last() -> date | None:
        """The newest sealed day; None before the first run."""
        return SealedDay.objects.order_by("-day").values_list("day", flat=True).first()


class ReconciliationRun(models.Model):
    """A check of everything in bounded portions: the next run continues a killed run."""

    started_at = models.DateTimeField(db_default=Now())
    finished_at = models.DateTimeField(null=True)
    position = models.JSONField(default=dict)  # start of the next portion
    breaches = models.JSONField(default=list)  # [check, subject]

    class Meta:
        constraints = [
            models.UniqueConstraint(
                models.ExpressionWrapper(models.Q(finished_at=None), models.BooleanField()),
                condition=models.Q(finished_at=None),
                name="one_unfinished_reconciliation",
            )
        ]

    def __str__(self) -> str:
        return f"{self.started_at}: {self.position}"
