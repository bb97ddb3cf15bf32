"""Stored responses of requests with an Idempotency-Key, and the log of API requests."""

from datetime import timedelta

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import ApiKey, Company, Mode


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
    # The id of the message or other effect, from which the response can be rebuilt.
    subject_id = models.UUIDField(_("subject"), null=True)
    status = models.PositiveSmallIntegerField(_("HTTP status"), null=True)  # null while it runs
    body = models.TextField(_("response body"), null=True)  # noqa: DJ001 - replayed byte for byte
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


class ApiRequest(models.Model):
    """A logged request, without secrets: no code, key, body or query, and the phone is masked."""

    company = models.ForeignKey(
        Company,
        models.CASCADE,
        related_name="api_requests",
        db_index=False,
        db_constraint=False,
        verbose_name=_("company"),
    )
    api_key = models.ForeignKey(
        ApiKey,
        models.SET_NULL,
        null=True,
        related_name="+",
        db_index=False,
        db_constraint=False,
        verbose_name=_("API key"),
    )
    mode = models.CharField(_("mode"), max_length=4, choices=Mode.choices)
    request_id = models.CharField(_("request id"), max_length=40)
    method = models.CharField(_("method"), max_length=7)
    path = models.CharField(_("call"), max_length=80)  # as declared: without ids
    status = models.PositiveSmallIntegerField(_("status"))
    code = models.CharField(_("error code"), max_length=40, blank=True)
    fields = ArrayField(models.CharField(max_length=40), default=list, verbose_name=_("fields"))
    duration = models.PositiveIntegerField(_("duration, ms"))
    phone = models.CharField(_("phone"), max_length=16, blank=True)  # masked
    message_id = models.UUIDField(_("message"), null=True)
    created_at = models.DateTimeField(_("time"))

    class Meta:
        verbose_name = _("API request")
        verbose_name_plural = _("API requests")
        indexes = [
            models.Index(fields=["company", "mode", "created_at", "id"], name="request_of_company"),
            BrinIndex(fields=["created_at"], name="request_by_time"),  # for the purge
        ]

    def __str__(self) -> str:
        return self.request_id

    @property
    def is_refused(self) -> bool:
        return self.status >= 400
