"""The list of erasures, by which restored data is erased again, and companies' exports."""

from datetime import timedelta
from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from accounts.models import Export


class Erasure(models.Model):
    """An erased phone, stored as a keyed hash, so that the list identifies nobody."""

    company_id = models.BigIntegerField(_("company"), null=True)  # null: all companies
    mode = models.CharField(_("mode"), max_length=4, blank=True, db_default="")  # empty: both
    key_id = models.CharField(_("key"), max_length=16)  # the key in WEBHOOK_KEYS for the hash
    phone_hash = models.BinaryField(max_length=32)
    erased_at = models.DateTimeField(_("erased"), db_default=Now())  # the last time

    class Meta:
        verbose_name = _("erasure")
        verbose_name_plural = _("erasures")
        constraints = [
            models.UniqueConstraint(
                fields=["phone_hash", "company_id", "mode"],
                nulls_distinct=False,
                name="erasure_once",
            )
        ]

    def __str__(self) -> str:
        return bytes(self.phone_hash).hex()[:12]


class CompanyExport(Export):
    """An archive of all data of a company, for its owners; made file by file, part by part.

    `language` is the README's.
    """

    LIFETIME = timedelta(days=7)
    MAX_FINISHED: ClassVar = 5

    file = models.PositiveSmallIntegerField(default=0)  # the number of the file being made

    class Meta:
        verbose_name = _("export of a company")
        verbose_name_plural = _("exports of companies")
        constraints = [
            models.UniqueConstraint(
                fields=["company"], condition=Q(state="running"), name="company_export_running"
            )
        ]


class CompanyExportPart(models.Model):
    export = models.ForeignKey(  # indexed by the constraint
        CompanyExport, models.CASCADE, related_name="parts", db_index=False
    )
    number = models.PositiveIntegerField()
    name = models.CharField(max_length=40)  # of the file in the archive
    body = models.BinaryField()  # of the file in UTF-8, compressed by zlib

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["export", "number"], name="company_export_part_once")
        ]

    def __str__(self) -> str:
        return f"{self.export} {self.number}"
