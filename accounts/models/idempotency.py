"""Stored responses of requests with an Idempotency-Key."""

from datetime import timedelta

from django.db import models
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models.people import Company, Mode


class IdempotencyQuerySet(models.QuerySet["IdempotentRequest"]):
    def expired(self) -> "IdempotencyQuerySet":
        return self.filter(created_at__lt=timezone.now() - timedelta(hours=24))


class IdempotentRequest(models.Model):
    """A POST with an Idempotency-Key: inserted with its effect, completed with its response."""

    company = models.ForeignKey(
        Company,
        models.CASCADE,
        related_name="+",
        db_index=False,  # idempotency_key_once begins with it
        verbose_name=_("company"),
    )
    mode = models.CharField(_("mode"), max_length=4, choices=Mode.choices)
    path = models.CharField(_("path"), max_length=60)
    key = models.CharField(_("key"), max_length=255)
    request_hash = models.BinaryField(max_length=32)
    # the message, whose state can rebuild the answer
    subject_id = models.UUIDField(_("subject"), null=True)
    status = models.PositiveSmallIntegerField(_("HTTP status"), null=True)  # null while it runs
    body = models.TextField(_("response body"), null=True)  # noqa: DJ001 - as it was sent, to the byte
    created_at = models.DateTimeField(_("created"), db_default=Now())

    objects = IdempotencyQuerySet.as_manager()

    class Meta:
        verbose_name = _("idempotent request")
        verbose_name_plural = _("idempotent requests")
        constraints = [
            models.UniqueConstraint(
                fields=["company", "mode", "path", "key"], name="idempotency_key_once"
            )
        ]
        indexes = [models.Index(fields=["created_at"], name="idempotency_created")]

    def __str__(self) -> str:
        return f"{self.path} {self.status or 'running'}"
