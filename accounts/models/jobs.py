"""Scheduled work that failed, until it succeeds (`accounts.jobs`)."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models.people import Company


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
