"""Further levels at which a company wants to hear of its tokens."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models import Company


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
