"""Times in which fewer messages of a company arrived than usual."""

from django.db import models
from django.db.models import Q

from accounts.models import Company
from config import channels


class DeliveryDrop(models.Model):
    """One drop of one channel; `channels.history.drop_watch` writes it."""

    company = models.ForeignKey(
        Company, models.CASCADE, related_name="delivery_drops", db_index=False
    )
    channel = models.CharField(max_length=8, choices=channels.choices)
    share = models.FloatField()  # per cent delivered, when it was last looked at
    usual = models.FloatField()
    began_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["company", "channel"],
                condition=Q(ended_at__isnull=True),
                name="delivery_drop_open_once",
            )
        ]
        indexes = [
            models.Index(
                fields=["ended_at"], condition=Q(ended_at__isnull=False), name="delivery_drop_ended"
            )
        ]

    def __str__(self) -> str:
        return f"{self.channel} {self.share:.1f} % of {self.usual:.1f} %"
