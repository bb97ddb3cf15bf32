"""Messages counted by day, so that statistics over months read few rows, and drops of delivery."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from accounts.models import Company, Mode
from catalogue import channels
from channels.models.messages import Message


class DayCount(models.Model):
    """Messages of one day (in the cabinet's time zone) by outcome; `day_counts` writes it."""

    company = models.ForeignKey(Company, models.CASCADE, related_name="+", db_index=False)
    mode = models.CharField(max_length=4, choices=Mode.choices)
    day = models.DateField()
    channel = models.CharField(max_length=8, choices=channels.choices)
    kind = models.CharField(max_length=4, choices=Message.Kind.choices)
    state = models.CharField(max_length=9, choices=Message.State.choices)
    pace = models.PositiveIntegerField()  # ms to delivery, two significant digits; 0 if undelivered
    messages = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["company", "mode", "day", "channel", "kind", "state", "pace"],
                name="day_count_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.channel} {self.state}: {self.messages}"


class DayBreakdown(models.Model):
    """Messages of one day by one of their properties and by the steps they reached.

    `spent` and `returned` are tokens settled on that day for messages of any day.
    """

    class Dimension(models.TextChoices):
        CHANNEL = "channel", _("channel")
        COUNTRY = "country", _("country")
        PURPOSE = "purpose", _("purpose")
        API_KEY = "api_key", _("API key")

    company = models.ForeignKey(Company, models.CASCADE, related_name="+", db_index=False)
    mode = models.CharField(max_length=4, choices=Mode.choices)
    day = models.DateField()
    dimension = models.CharField(max_length=7, choices=Dimension.choices)
    # A purpose is text of the client's choice; a key is its id. Empty if the message has none.
    value = models.CharField(max_length=64, blank=True)
    is_rest = models.BooleanField(default=False)  # sum of the values without a row
    requested = models.PositiveIntegerField()
    handed_over = models.PositiveIntegerField()
    delivered = models.PositiveIntegerField()
    linked = models.PositiveIntegerField()  # arrived with a short link
    opened = models.PositiveIntegerField()  # of those, by a person
    codes = models.PositiveIntegerField()  # each code once, even if several messages carried it
    entered = models.PositiveIntegerField()
    charged = models.PositiveIntegerField()  # paid deliveries
    spent = models.PositiveBigIntegerField()
    returned = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["company", "mode", "dimension", "day", "value", "is_rest"],
                name="day_breakdown_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.dimension} {self.value}: {self.requested}"


class CountedDay(models.Model):
    """A day counted for all companies. Days after the last one are counted live."""

    day = models.DateField(primary_key=True)
    counted_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return str(self.day)


class StaleDay(models.Model):
    """A mark to recount an earlier day, because one of its messages changed.

    Inserted in the commit of the change, without a unique key for parallel workers to wait on.
    """

    company_id = models.BigIntegerField()
    mode = models.CharField(max_length=4)
    day = models.DateField()
    due_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"{self.company_id} {self.day}"


class DeliveryDrop(models.Model):
    """A drop of one channel. `channels.history.drop_watch` writes it."""

    company = models.ForeignKey(
        Company, models.CASCADE, related_name="delivery_drops", db_index=False
    )
    channel = models.CharField(max_length=8, choices=channels.choices)
    share = models.FloatField()  # per cent delivered at the last check
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
