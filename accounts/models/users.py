"""People who sign in, to companies' cabinets or as operators to the admin, and their sessions."""

from collections.abc import Iterator
from typing import Any, ClassVar
from unicodedata import normalize

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.contrib.sessions.models import Session
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.names import device_name
from catalogue.languages import page_languages


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        user = self.model(email=self.normalize_email(email), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)

    def get_by_natural_key(self, email: str | None) -> "User":
        return self.get(email__iexact=email)


class User(AbstractBaseUser, PermissionsMixin):
    email = models.EmailField(_("e-mail"), max_length=254)
    name = models.CharField(pgettext_lazy("person", "name"), max_length=150, blank=True)
    language = models.CharField(
        _("language"), max_length=2, choices=page_languages.choices, default=settings.LANGUAGE_CODE
    )
    # A name from the IANA database; empty: the service's zone.
    time_zone = models.CharField(
        _("time zone"), max_length=64, blank=True, default="", db_default=""
    )
    has_shortcuts = models.BooleanField(_("keyboard shortcuts"), default=True, db_default=True)
    # Kinds of `accounts.outbox.mail` that the person has unsubscribed from.
    muted_notices = models.JSONField(default=list, db_default=[], editable=False)
    is_staff = models.BooleanField(_("operator"), default=False)
    # Whether is_staff, is_superuser and groups were granted by a group of the identity provider.
    is_staff_from_provider = models.BooleanField(
        _("operator by the identity provider"), default=False, db_default=False, editable=False
    )
    is_active = models.BooleanField(_("active"), default=True)
    date_joined = models.DateTimeField(_("joined"), default=timezone.now)
    # Part of the session hash: an increment ends all sessions.
    session_generation = models.PositiveIntegerField(default=0, db_default=0, editable=False)

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects = UserManager()

    class Meta:
        verbose_name = _("user")
        verbose_name_plural = _("users")
        constraints = [models.UniqueConstraint(Lower("email"), name="user_email_unique")]

    def __str__(self) -> str:
        return self.email

    def set_password(self, raw_password: str | None) -> None:
        super().set_password(raw_password and normalize("NFC", raw_password))

    def check_password(self, raw_password: str | None) -> bool:
        """Compares in NFC: keyboards type й as one character, or as и and a breve (RFC 8265)."""
        return super().check_password(raw_password and normalize("NFC", raw_password))

    def get_session_auth_hash(self) -> str:
        return self._with_generation(super().get_session_auth_hash())

    def get_session_auth_fallback_hash(self) -> Iterator[str]:
        for fallback_hash in super().get_session_auth_fallback_hash():
            yield self._with_generation(fallback_hash)

    def _with_generation(self, auth_hash: str) -> str:
        if not self.session_generation:
            return auth_hash
        return f"{auth_hash}:{self.session_generation}"


class UserSessionQuerySet(models.QuerySet["UserSession"]):
    def alive(self) -> "UserSessionQuerySet":
        running = Session.objects.filter(expire_date__gt=timezone.now())
        return self.filter(session_key__in=running.values("session_key"))

    def dead(self) -> "UserSessionQuerySet":
        running = Session.objects.filter(expire_date__gt=timezone.now())
        return self.exclude(session_key__in=running.values("session_key"))


class UserSession(models.Model):
    """The user, address, device and times of a Django session, which has the same key."""

    session_key = models.CharField(max_length=40, unique=True)
    user = models.ForeignKey(User, models.CASCADE, related_name="sessions")
    ip = models.GenericIPAddressField(_("IP address"), null=True)
    user_agent = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(_("created"), default=timezone.now)
    last_seen_at = models.DateTimeField(_("last seen"), default=timezone.now)
    failed_attempts = models.PositiveSmallIntegerField(default=0)  # consecutive reauthentications

    objects = UserSessionQuerySet.as_manager()

    class Meta:
        verbose_name = _("session")
        verbose_name_plural = _("sessions")

    def __str__(self) -> str:
        return f"{self.user_id} {self.device}"

    @property
    def device(self) -> str:
        return device_name(self.user_agent)
