"""Tables that only the service reads: cache entries, changed companies, failed work."""

from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models.people import Company


class CacheEntry(models.Model):
    key = models.CharField(max_length=260, primary_key=True)
    value = models.JSONField()
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name = "cache entry"
        verbose_name_plural = "cache entries"

    def __str__(self) -> str:
        return self.key


class CompanyChange(models.Model):
    """A transaction that changed a company, its keys or its texts; the last one is kept."""

    EVERY_COMPANY: ClassVar[int] = 0  # a table was emptied

    pk = models.CompositePrimaryKey("transaction_id", "company_id")
    transaction_id = models.BigIntegerField()
    company_id = models.BigIntegerField()  # no reference: it would lock the company's row

    class Meta:
        verbose_name = "company change"
        verbose_name_plural = "company changes"
        indexes = [models.Index(fields=["company_id"], name="company_change_of_company")]

    def __str__(self) -> str:
        return f"{self.company_id} by {self.transaction_id}"


class JobFailure(models.Model):
    job = models.CharField(_("job"), max_length=40)
    subject = models.CharField(_("subject"), max_length=80)  # ids, as the job names its work
    company = models.ForeignKey(
        Company,
        models.CASCADE,
        null=True,
        related_name="+",
        db_index=False,
        db_constraint=False,
        verbose_name=_("company"),
    )
    tries = models.PositiveIntegerField(_("tries"), default=0)
    error = models.CharField(_("error"), max_length=80)  # its type: a text might name a person
    failed_at = models.DateTimeField(_("last failed"))
    due_at = models.DateTimeField(_("next try"))
    gave_up_at = models.DateTimeField(_("given up"), null=True)

    class Meta:
        verbose_name = _("failed work")
        verbose_name_plural = _("failed work")
        constraints = [models.UniqueConstraint(fields=["job", "subject"], name="job_failure_once")]

    def __str__(self) -> str:
        return f"{self.job} {self.subject}"
