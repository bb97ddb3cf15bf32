"""What an SMS to a country costs, where the operator sets another price than everywhere."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import User

MOST_TOKENS = 1000  # for one SMS


class SmsPrice(models.Model):
    """A price from a moment on; rows that have begun are history and stay."""

    country = models.CharField(_("country"), max_length=2)
    tokens = models.PositiveSmallIntegerField(
        _("tokens per SMS"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(MOST_TOKENS)],
        help_text=_("empty: the price of all countries again"),
    )
    starts_at = models.DateTimeField(
        _("from"),
        default=timezone.now,
        help_text=_("messages sent before keep the price that they were held at"),
    )
    created_by = models.ForeignKey(
        User, models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("created by")
    )
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("price of an SMS by country")
        verbose_name_plural = _("prices of an SMS by country")
        constraints = [
            models.UniqueConstraint(fields=["country", "starts_at"], name="sms_price_once"),
            models.CheckConstraint(
                condition=Q(tokens__isnull=True) | Q(tokens__gte=1, tokens__lte=MOST_TOKENS),
                name="sms_price_in_range",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.country}: {self.tokens or '—'}"
