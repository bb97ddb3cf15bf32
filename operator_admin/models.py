"""Alerts to the operators, their notes about companies, incidents, and days of the status page."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from accounts.models import Company, User
from catalogue import channels
from catalogue.languages import page_languages

# Characters of an incident.
TITLE_LENGTH = 120
TEXT_LENGTH = 600


class AlertQuerySet(models.QuerySet["Alert"]):
    def firing(self) -> "AlertQuerySet":
        """Open alerts that operators were notified of."""
        return self.filter(ended_at=None, notices__gt=0)


class Alert(models.Model):
    """A problem, from its detection to its end; only `alerts.evaluation` writes it.

    It is pending until its rule's time has passed (`due_at` in the future, nothing sent), then
    firing.
    """

    rule = models.CharField(max_length=40)
    subject = models.CharField(max_length=120, blank=True)  # an account, a host, a check
    details = models.JSONField(default=dict)  # values for the rule's texts
    began_at = models.DateTimeField()
    missing_since = models.DateTimeField(null=True)  # since when the problem is no longer detected
    ended_at = models.DateTimeField(null=True)
    notices = models.PositiveIntegerField(default=0)  # sent: the first one and reminders
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
        """Whether a notice was sent since it began, so that its end is sent too."""
        return self.notified_at is not None and self.notified_at >= self.began_at


class AlertRun(models.Model):
    """The last evaluation of a group of rules. A process claims the row to evaluate them."""

    group = models.CharField(max_length=10, primary_key=True)
    at = models.DateTimeField()

    class Meta:
        verbose_name = "alert run"
        verbose_name_plural = "alert runs"

    def __str__(self) -> str:
        return self.group


class TelegramNotice(models.Model):
    """The outbox of the operators' Telegram chat; e-mails have another outbox."""

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
    """An operator's note about a company, for other operators. Notes are never changed."""

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


class IncidentQuerySet(models.QuerySet["Incident"]):
    def open(self) -> "IncidentQuerySet":
        return self.filter(resolved_at=None)

    def resolved(self) -> "IncidentQuerySet":
        return self.filter(resolved_at__isnull=False)

    def public(self) -> "IncidentQuerySet":
        """Incidents of the status page, planned maintenance included."""
        return self.filter(is_public=True)


class Incident(models.Model):
    """An incident, described by the operator for companies; `incidents.timeline` writes it.

    Companies see its notice from `shown_from` until `shown_until` or its end.
    """

    class Impact(models.TextChoices):
        DEGRADED = "degraded", _("degraded")
        OUTAGE = "outage", _("outage")
        MAINTENANCE = "maintenance", _("maintenance")

    class State(models.TextChoices):
        INVESTIGATING = "investigating", _("investigating")
        IDENTIFIED = "identified", _("identified")
        MONITORING = "monitoring", _("monitoring")
        RESOLVED = "resolved", _("resolved")

    titles = models.JSONField(_("titles by language"))
    impact = models.CharField(_("impact"), max_length=11, choices=Impact.choices)
    state = models.CharField(_("state"), max_length=13, choices=State.choices)
    # Empty: all channels; all countries.
    channel = models.CharField(_("channel"), max_length=8, choices=channels.choices, blank=True)
    country = models.CharField(_("country of the companies"), max_length=2, blank=True)
    is_public = models.BooleanField(_("on the status page"), default=True, db_default=True)
    began_at = models.DateTimeField(_("began"), db_default=Now())
    shown_from = models.DateTimeField(_("notice from"), db_default=Now())
    shown_until = models.DateTimeField(_("notice until"), null=True)
    resolved_at = models.DateTimeField(_("resolved"), null=True)

    objects = IncidentQuerySet.as_manager()

    class Meta:
        verbose_name = _("incident")
        verbose_name_plural = _("incidents")
        constraints = [
            models.CheckConstraint(
                condition=Q(state="resolved", resolved_at__isnull=False)
                | (~Q(state="resolved") & Q(resolved_at=None)),
                name="incident_ends_when_resolved",
            )
        ]
        indexes = [
            models.Index(fields=["began_at"], name="incident_began"),
            models.Index(
                fields=["shown_from"], name="incident_open", condition=Q(resolved_at=None)
            ),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def title(self) -> str:
        return str(self.titles[page_languages.active()])

    @property
    def alert_level(self) -> str:
        return {"outage": "danger", "degraded": "warning"}.get(self.impact, "info")

    @property
    def newest_updates(self) -> list["IncidentUpdate"]:
        """All updates, the newest first."""
        return sorted(self.updates.all(), key=lambda row: (row.created_at, row.pk), reverse=True)


class IncidentUpdate(models.Model):
    """A text about an incident. Updates are added, never changed."""

    incident = models.ForeignKey(Incident, models.CASCADE, related_name="updates", db_index=False)
    state = models.CharField(_("state"), max_length=13, choices=Incident.State.choices)
    texts = models.JSONField(_("texts by language"))
    author = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+", db_index=False)
    created_at = models.DateTimeField(_("time"), db_default=Now())

    class Meta:
        verbose_name = _("update of an incident")
        verbose_name_plural = _("updates of incidents")
        indexes = [models.Index(fields=["incident", "created_at"], name="update_of_incident")]

    def __str__(self) -> str:
        return self.text[:50]

    @property
    def text(self) -> str:
        return str(self.texts[page_languages.active()])


class StatusDay(models.Model):
    """A day of one component, over all companies; `status.summary` writes it.

    For a channel, `total` counts ended messages and `good` delivered ones. For the API, `total`
    counts measured minutes and `good` those in which a web process was alive.
    """

    component = models.CharField(max_length=8)
    day = models.DateField()
    total = models.PositiveBigIntegerField(default=0)
    good = models.PositiveBigIntegerField(default=0)
    companies = models.PositiveIntegerField(default=0)
    largest = models.PositiveBigIntegerField(default=0)  # the largest company's part of `total`
    median_ms = models.PositiveIntegerField(null=True)  # until delivery
    counted_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["day", "component"], name="status_day_once")]

    def __str__(self) -> str:
        return f"{self.day} {self.component}"
