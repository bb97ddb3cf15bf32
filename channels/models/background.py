"""The heartbeats of background processes."""

from django.db import models
from django.utils.translation import gettext_lazy as _


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
