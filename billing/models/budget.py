"""Spending limits of a company, so a stolen key cannot spend all its tokens."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models import Company


class Budget(models.Model):
    """Tokens a company may spend in a day or, by country, in a clock hour."""

    # In place of a country: the day's budget; the hourly budget of countries without their own.
    DAY, ANY = "", "*"
    UNKNOWN = "ZZ"  # numbers that belong to no country

    company = models.ForeignKey(
        Company, models.CASCADE, related_name="+", db_index=False, verbose_name=_("company")
    )
    country = models.CharField(
        _("country"),
        max_length=2,
        blank=True,
        help_text=_("ISO 3166; empty: the company's day; *: an hour in any other country"),
    )
    own = models.PositiveBigIntegerField(
        _("tokens"), null=True, blank=True, help_text=_("leave empty to base it on recent spending")
    )
    usual = models.PositiveBigIntegerField(
        _("based on recent spending"), null=True, blank=True, editable=False
    )
    warned_for = models.DateTimeField(null=True, editable=False)  # the period already alerted

    class Meta:
        verbose_name = _("budget")
        verbose_name_plural = _("budgets")
        constraints = [models.UniqueConstraint(fields=["company", "country"], name="budget_once")]

    def __str__(self) -> str:
        return f"{self.company} {self.country}"


class SpentDay(models.Model):
    """Tokens held on a past day, by country: the base of usual budgets."""

    company = models.ForeignKey(Company, models.CASCADE, related_name="+")
    country = models.CharField(max_length=2)
    day = models.DateField()
    tokens = models.PositiveBigIntegerField()
    busiest_hour = models.PositiveBigIntegerField()

    class Meta:
        verbose_name = _("spending of a day")
        verbose_name_plural = _("spending by day")
        constraints = [
            models.UniqueConstraint(fields=["day", "company", "country"], name="spent_day_once")
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.country}: {self.tokens}"
