"""The evidence and the savings of smart routing."""

from django.db import models

from accounts.models import Company


class RouterState(models.Model):
    """A single row with everything learned, except about single phones.

    The learning worker locks it.
    """

    ONLY = 1

    version = models.PositiveBigIntegerField(default=0)
    learned_until = models.DateTimeField()
    counted_until = models.DateTimeField(null=True)  # written by `otp.statistics.savings_count`
    state = models.JSONField(default=dict)  # JSON of `channels.routing.learned.learned_router`

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(id=1), name="router_state_one_row")
        ]

    def __str__(self) -> str:
        return f"{self.version}: {self.learned_until.isoformat()}"


class RememberedPhone(models.Model):
    """The channels that reached a phone and those that failed, for all companies together.

    The phone is a keyed hash. Erased with the person, and 180 days after the last outcome.
    """

    phone_hash = models.BinaryField(max_length=16, primary_key=True)
    key_id = models.CharField(max_length=8, default="", db_default="")  # id of the hash key
    traces = models.JSONField(default=dict)  # channel → `phone_memories.Stored`
    seen_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["seen_at"], name="remembered_phone_seen"),
            models.Index(fields=["key_id"], name="remembered_phone_key"),
        ]

    def __str__(self) -> str:
        return bytes(self.phone_hash).hex()


class RouteDay(models.Model):
    """Codes of a company that chose smart routing, by day, country and arm of its hold-out."""

    class Arm(models.TextChoices):
        SMART = "smart"
        HOLD_OUT = "hold_out"  # held out: sent in the company's own order, for comparison

    company = models.ForeignKey(Company, models.CASCADE, related_name="+", db_index=False)
    day = models.DateField()
    country = models.CharField(max_length=2, blank=True)
    arm = models.CharField(max_length=8, choices=Arm.choices)
    codes = models.PositiveBigIntegerField(default=0)
    entered = models.PositiveBigIntegerField(default=0)
    tokens = models.PositiveBigIntegerField(default=0)
    tokens_squared = models.PositiveBigIntegerField(default=0)  # sum of squares
    # Seconds from the send to the correct code, summed over entered codes.
    seconds = models.FloatField(default=0.0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["company", "day", "country", "arm"], name="route_day_once"
            )
        ]
        indexes = [models.Index(fields=["day"], name="route_day_day")]

    def __str__(self) -> str:
        return f"{self.day} {self.country} {self.arm}"
