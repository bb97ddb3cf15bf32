"""Files built in the background: the rows by which workers continue them, and their parts."""

from datetime import datetime, timedelta
from typing import Any, ClassVar, Self

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.models.companies import Company
from accounts.models.users import User
from catalogue.ids import uuid7


class ExportQuerySet(models.QuerySet[Any]):
    def unfinished(self) -> Self:
        return self.filter(state=Export.State.RUNNING).order_by("created_at", "id")

    def finished(self) -> Self:
        return self.exclude(state=Export.State.RUNNING)


class Export(models.Model):
    """A file built part by part in the background, for the member who asked for it."""

    LIFETIME: ClassVar[timedelta]

    class State(models.TextChoices):
        RUNNING = "running", _("being made")
        READY = "ready", _("ready")
        STOPPED = "stopped", _("stopped")
        FAILED = "failed", pgettext_lazy("file", "failed")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    company = models.ForeignKey(Company, models.CASCADE, related_name="+")
    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    language = models.CharField(max_length=2)
    state = models.CharField(_("state"), max_length=7, choices=State.choices, default=State.RUNNING)
    rows = models.PositiveIntegerField(_("rows"), default=0)
    # The last row written, after which the next part begins.
    reached_at = models.DateTimeField(null=True)
    reached_id = models.CharField(max_length=36, blank=True)
    created_at = models.DateTimeField(_("requested"), default=timezone.now)
    finished_at = models.DateTimeField(_("finished"), null=True)
    parts: Any  # rows of the subclass's model of parts, in order

    objects = ExportQuerySet.as_manager()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.created_at:%Y-%m-%d %H:%M}"

    @property
    def expires_at(self) -> datetime:
        return self.created_at + self.LIFETIME

    def finish(self, state: State) -> None:
        self.state = state
        self.finished_at = timezone.now()
        self.save(update_fields=["state", "rows", "finished_at"])
        if state != self.State.READY:
            self.parts.all().delete()


class CsvExport(Export):
    """A CSV file of a list of the cabinet."""

    LIFETIME = timedelta(days=3)
    MAX_UNFINISHED: ClassVar = 3  # files of a company
    MAX_FINISHED: ClassVar = 20  # files of a member, as many as the page shows

    kind = models.CharField(max_length=20)  # of `cabinet.csv_exports.KINDS`
    query = models.TextField(_("filter"), blank=True)
    role = models.CharField(max_length=10)  # the member's: it decides which data are shown
    percent = models.PositiveSmallIntegerField(default=0)

    class Meta:
        verbose_name = _("list export")
        verbose_name_plural = _("list exports")
        indexes = [
            models.Index(fields=["created_at"], condition=Q(state="running"), name="export_running")
        ]


class CsvExportPart(models.Model):
    export = models.ForeignKey(  # indexed by the constraint
        CsvExport, models.CASCADE, related_name="parts", db_index=False
    )
    number = models.PositiveIntegerField()
    body = models.BinaryField()  # CSV lines in UTF-8, compressed by zlib

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["export", "number"], name="export_part_once")
        ]

    def __str__(self) -> str:
        return f"{self.export} {self.number}"
