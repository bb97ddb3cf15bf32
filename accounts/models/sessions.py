"""Sessions of signed-in browsers."""

from django.contrib.sessions.models import Session
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models.users import User
from accounts.names import device_name


class UserSessionQuerySet(models.QuerySet["UserSession"]):
    def alive(self) -> "UserSessionQuerySet":
        running = Session.objects.filter(expire_date__gt=timezone.now())
        return self.filter(session_key__in=running.values("session_key"))

    def dead(self) -> "UserSessionQuerySet":
        running = Session.objects.filter(expire_date__gt=timezone.now())
        return self.exclude(session_key__in=running.values("session_key"))


class UserSession(models.Model):
    """Describes the Django session with the same key; its data is there."""

    session_key = models.CharField(max_length=40, unique=True)
    user = models.ForeignKey(User, models.CASCADE, related_name="sessions")
    ip = models.GenericIPAddressField(_("IP address"), null=True)
    user_agent = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(_("created"), default=timezone.now)
    last_seen_at = models.DateTimeField(_("last seen"), default=timezone.now)
    failed_attempts = models.PositiveSmallIntegerField(default=0)  # of reauthentication, in a row

    objects = UserSessionQuerySet.as_manager()

    class Meta:
        verbose_name = _("session")
        verbose_name_plural = _("sessions")

    def __str__(self) -> str:
        return f"{self.user_id} {self.device}"

    @property
    def device(self) -> str:
        return device_name(self.user_agent)
