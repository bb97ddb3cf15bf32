"""Background work: message exports, and the heartbeats of processes."""

from datetime import timedelta
from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.models import Export


class MessageExport(Export):
    """A CSV file of messages."""

    LIFETIME = timedelta(days=3)
    MAX_UNFINISHED: ClassVar = 3  # files of a company
    MAX_FINISHED: ClassVar = 20  # files of a member, as many as the page shows

    query = models.CharField(_("filter"), max_length=500, blank=True)
    masks_phones = models.BooleanField()
    reached_id = models.UUIDField(null=True)  # the last row written; rows come newest first
    # time of the mode's first message, for the progress
    oldest_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("message export")
        verbose_name_plural = _("message exports")
        indexes = [
            models.Index(fields=["created_at"], condition=Q(state="running"), name="export_running")
        ]

    @property
    def percent(self) -> int:
        """The progress in per cent by time: the rows ahead are not counted."""
        if self.state == self.State.READY:
            return 100
        if not (self.reached_at and self.oldest_at):
            return 0
        duration = (self.created_at - self.oldest_at).total_seconds()
        elapsed = (self.created_at - self.reached_at).total_seconds()
        return min(99, round(100 * elapsed / duration)) if duration > 0 else 0


class MessageExportPart(models.Model):
    export = models.ForeignKey(  # indexed by the constraint
        MessageExport, models.CASCADE, related_name="parts", db_index=False
    )
    number = models.PositiveIntegerField()
    body = models.BinaryField()  # CSV lines in UTF-8, compressed by zlib

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["export", "number"], name="export_part_once")
        ]

    def __str__(self) -> str:
        return f"{self.export} {self.number}"


class Heartbeat(models.Model):
    """The last heartbeat of a background process, with details it reports about itself."""

    class Kind(models.TextChoices):
        WEB = "web", _("web")
        DELIVERY = "delivery", _("delivery")
        BEAT = "beat", _("beat")
        SMPP = "smpp", "SMPP"

    process = models.CharField(max_length=120, primary_key=True)
    # A `Kind`, or the name of the account that the process hosts.
    kind = models.CharField(max_length=40, choices=Kind.choices)
    at = models.DateTimeField()
    details = models.JSONField(default=dict)

    class Meta:
        verbose_name = _("heartbeat")
        verbose_name_plural = _("heartbeats")

    def __str__(self) -> str:
        return self.process
