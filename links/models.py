"""Short links: a slug or an alias that stands for a URL until it expires."""

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import Company, Mode
from config.ids import public_id, uuid7


class Link(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    company = models.ForeignKey(Company, models.PROTECT, related_name="links", db_index=False)
    mode = models.CharField(_("mode"), max_length=4, choices=Mode.choices)
    slug = models.CharField(_("slug"), max_length=64)  # as typed or generated
    key = models.CharField(max_length=64)  # what is looked up: an alias in lower case
    is_alias = models.BooleanField(_("alias"), default=False)
    url = models.TextField(_("target"))
    created_at = models.DateTimeField(_("created"), db_default=Now())
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    disabled_at = models.DateTimeField(_("disabled"), null=True, blank=True)
    message_id = models.UUIDField(null=True)  # the one it went out in, to one person
    clicked_at = models.DateTimeField(_("first opened"), null=True)  # by that person
    retired_at = models.DateTimeField(null=True)  # its alias was handed on; the row is history
    clicks = models.PositiveBigIntegerField(_("clicks"), default=0, db_default=0)  # by people
    previews = models.PositiveBigIntegerField(_("previews"), default=0, db_default=0)
    scanners = models.PositiveBigIntegerField(_("scanners"), default=0, db_default=0)
    first_click_at = models.DateTimeField(_("first click"), null=True)
    last_click_at = models.DateTimeField(_("last click"), null=True)

    class Meta:
        verbose_name = _("link")
        verbose_name_plural = _("links")
        constraints = [
            models.UniqueConstraint(
                fields=["key"], condition=Q(retired_at__isnull=True), name="link_key_once"
            )
        ]
        indexes = [
            models.Index(
                F("company"), F("mode"), F("created_at").desc(), F("id").desc(), name="link_history"
            )
        ]

    def __str__(self) -> str:
        return self.slug

    @property
    def public_id(self) -> str:
        return public_id("lnk", self.id)

    @property
    def short_url(self) -> str:
        return f"{settings.SHORT_URL}/{self.slug}"

    @property
    def is_live(self) -> bool:
        is_expired = self.expires_at is not None and self.expires_at <= timezone.now()
        return self.disabled_at is None and not is_expired

    @property
    def state(self) -> str:
        """`active`, `expired` or `disabled`."""
        if self.disabled_at is not None:
            return "disabled"
        return "active" if self.is_live else "expired"


class ClickBatch(models.Model):
    """An entry of the stream whose clicks are counted: seen again, it counts for nothing."""

    id = models.UUIDField(primary_key=True, default=uuid4)
    counted_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return str(self.id)


class ClickDay(models.Model):
    """A link's clicks of one day of the cabinet's calendar; kept when the clicks themselves go."""

    link = models.ForeignKey(Link, models.CASCADE, related_name="days", db_index=False)
    day = models.DateField()
    clicks = models.PositiveIntegerField(default=0)
    previews = models.PositiveIntegerField(default=0)
    scanners = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["link", "day"], name="click_day_once")]

    def __str__(self) -> str:
        return f"{self.day}: {self.clicks}"
