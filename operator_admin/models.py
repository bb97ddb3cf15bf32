"""Alerts to the operators: what is wrong, since when, and what was sent about it."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from accounts.models import Company, User

class AlertQuerySet(models.QuerySet["Alert"]):
    def firing(self) -> "AlertQuerySet":
        """Open ones that operators were told of."""
        return self.filter(ended_at=None, notices__gt=0)


class Alert(models.Model):
    """One problem, from its first sight to its end; `alerts.evaluation` alone writes it.

    It is pending until its rule's time is over (`due_at` in the future, nothing sent), then firing.
    """

    rule = models.CharField(max_length=40)
    subject = models.CharField(max_length=120, blank=True)  # an account, a host, a check
    facts = models.JSONField(default=dict)  # fill the rule's texts
    began_at = models.DateTimeField()
    missing_since = models.DateTimeField(null=True)  # not seen lately: over soon
    ended_at = models.DateTimeField(null=True)
    notices = models.PositiveIntegerField(default=0)  # sent: of its beginning and reminders
    notified_at = models.DateTimeField(null=True)
    due_at = models.DateTimeField()  # of the next notice

    objects = AlertQuerySet.as_manager()

    class Meta:
        verbose_name = _("alert")
        verbose_name_plural = _("alerts")
        constraints = [
            models.UniqueConstraint(
                fields=["rule", "subject"], condition=Q(ended_at=None), name="alert_open_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.rule} {self.subject}".strip()

    @property
    def is_announced(self) -> bool:
        """Whether a notice was sent since it began, so that its end is news, too."""
        return self.notified_at is not None and self.notified_at >= self.began_at


class AlertRun(models.Model):
    """When a group of rules was evaluated last. The row is claimed, so one process does it."""

    group = models.CharField(max_length=10, primary_key=True)
    at = models.DateTimeField()

    class Meta:
        verbose_name = "alert run"
        verbose_name_plural = "alert runs"

    def __str__(self) -> str:
        return self.group


class TelegramNotice(models.Model):
    """The outbox of the operators' Telegram chat; e-mails have one of their own."""

    text = models.TextField()
    created_at = models.DateTimeField(db_default=Now())
    due_at = models.DateTimeField(db_default=Now())
    tries = models.PositiveIntegerField(default=0, db_default=0)
    error = models.CharField(max_length=200, blank=True, db_default="")

    class Meta:
        verbose_name = "Telegram notice"
        verbose_name_plural = "Telegram notices"

    def __str__(self) -> str:
        return str(self.pk)


class CompanyNote(models.Model):
    """What one operator tells the others about a company. Notes are added, never changed."""

    company = models.ForeignKey(
        Company, models.PROTECT, related_name="operator_notes", db_index=False
    )
    author = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+", db_index=False)
    text = models.CharField(_("note"), max_length=1000)
    created_at = models.DateTimeField(_("time"), db_default=Now())

    class Meta:
        verbose_name = _("note")
        verbose_name_plural = _("notes")
        indexes = [models.Index(fields=["company", "created_at"], name="note_of_company")]

    def __str__(self) -> str:
        return self.text[:50]


