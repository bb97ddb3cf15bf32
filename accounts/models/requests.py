"""Requests of the API, kept for some days: who asked what, when, and how it was answered."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import BrinIndex
from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models.api_keys import ApiKey
from accounts.models.people import Company, Mode


class ApiRequest(models.Model):
    """Nothing secret: no code, key, body or query, and of a phone what a mask leaves."""

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
