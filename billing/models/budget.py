"""Spending limits of a company, so a stolen key cannot spend all its tokens, and its alerts."""

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


class BalanceAlert(models.Model):
    """Tells once when the level is crossed, and again only after it was left again."""

    class Kind(models.TextChoices):
        TOKENS = "tokens", _("tokens left")
        DAYS = "days", _("days left at last week's rate")
        BUDGET = "budget", _("percent of the daily budget used")

    company = models.ForeignKey(
        Company, models.CASCADE, related_name="balance_alerts", db_index=False
    )
    kind = models.CharField(_("alert"), max_length=6, choices=Kind.choices)
    level = models.PositiveBigIntegerField(_("level"))
    notified_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        verbose_name = _("balance alert")
        verbose_name_plural = _("balance alerts")
        constraints = [
            models.UniqueConstraint(fields=["company", "kind", "level"], name="balance_alert_once")
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.level}"
