"""What VAT the seller charges, by date."""

from datetime import date
from decimal import Decimal

from django.db import models
from django.utils.translation import gettext_lazy as _

# Percent, the newest first: НК РФ, art. 164, item 3.
GENERAL_RATES = (
    (date(2026, 1, 1), Decimal("22.00")),
    (date(2019, 1, 1), Decimal("20.00")),
    (date(2004, 1, 1), Decimal("18.00")),
)


class VatRegimeQuerySet(models.QuerySet["VatRegime"]):
    def on(self, day: date) -> "VatRegime | None":
        return self.filter(since__lte=day).order_by("-since").first()


class VatRegime(models.Model):
    """Of the seller from a day on, until the next one begins."""

    class Regime(models.TextChoices):
        GENERAL = "general", _("general: 22 percent since 2026, 20 before")
        SIMPLIFIED_5 = "usn5", _("simplified, 5%")
        SIMPLIFIED_7 = "usn7", _("simplified, 7%")
        EXEMPT = "exempt", _("without VAT")

    since = models.DateField(_("since"))
    regime = models.CharField(_("regime"), max_length=7, choices=Regime.choices)

    objects = VatRegimeQuerySet.as_manager()

    class Meta:
        verbose_name = _("VAT regime")
        verbose_name_plural = _("VAT regimes")
        constraints = [models.UniqueConstraint(fields=["since"], name="vat_regime_once")]

    def __str__(self) -> str:
        return f"{self.since:%d.%m.%Y}: {self.get_regime_display()}"

    def rate_on(self, day: date) -> Decimal | None:
        """Percent; None: no VAT."""
        match self.regime:
            case self.Regime.GENERAL:
                return next((rate for since, rate in GENERAL_RATES if since <= day), None)
            case self.Regime.SIMPLIFIED_5:
                return Decimal("5.00")
            case self.Regime.SIMPLIFIED_7:
                return Decimal("7.00")
        return None
