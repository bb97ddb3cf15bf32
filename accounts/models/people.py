"""Who uses the service: people, companies, their roles and their API keys."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower, Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.names import company_names
from config import channels


class Language(models.TextChoices):
    RUSSIAN = "ru", "Русский"
    ENGLISH = "en", "English"


class Mode(models.TextChoices):
    LIVE = "live", _("live")
    TEST = "test", _("test")


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
        _("language"), max_length=2, choices=Language, default=Language.RUSSIAN
    )
    is_staff = models.BooleanField(_("operator"), default=False)
    # Given by a group of the identity provider, together with superuser and groups.
    desk_from_provider = models.BooleanField(
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

    def get_session_auth_hash(self) -> str:
        return self._of_generation(super().get_session_auth_hash())

    def get_session_auth_fallback_hash(self) -> Iterator[str]:
        for one in super().get_session_auth_fallback_hash():
            yield self._of_generation(one)

    def _of_generation(self, auth_hash: str) -> str:
        if not self.session_generation:
            return auth_hash
        return f"{auth_hash}:{self.session_generation}"


class CompanyQuerySet(models.QuerySet["Company"]):
    def of(self, user: User) -> "CompanyQuerySet":
        return self.filter(members__user=user)


def _limit(name: Any) -> "models.PositiveIntegerField[int | None, int | None]":
    """A company's send limit; null: the service's default."""
    return models.PositiveIntegerField(
        name, null=True, blank=True, validators=[MinValueValidator(1)]
    )


class Company(models.Model):
    class Status(models.TextChoices):
        PENDING = "pending", _("waiting for approval")
        APPROVED = "approved", _("approved")
        SUSPENDED = "suspended", _("suspended")

    name = models.CharField(_("name"), max_length=120)
    status = models.CharField(
        _("status"), max_length=10, choices=Status.choices, default=Status.PENDING
    )
    country = models.CharField(
        _("country"), max_length=2, default="RU", help_text=_("ISO 3166 code, such as RU or KZ")
    )
    language = models.CharField(
        _("language of messages"), max_length=2, choices=Language, default=Language.RUSSIAN
    )
    brand = models.CharField(
        _("brand in messages"),
        max_length=30,
        blank=True,
        help_text=_("leave empty for the company name"),
    )
    default_channel = models.CharField(
        _("default channel"),
        max_length=10,
        blank=True,
        choices=channels.choices,
    )
    code_length = models.PositiveSmallIntegerField(
        _("code length"), default=6, validators=[MinValueValidator(4), MaxValueValidator(8)]
    )
    allowed_countries = ArrayField(
        models.CharField(max_length=2),
        verbose_name=_("allowed countries"),
        default=list,
        blank=True,
        help_text=_("leave empty for the company's own"),
    )
    all_countries = models.BooleanField(_("every country"), default=False, db_default=False)
    # Country → [set by somebody, usual lately] of `billing.budgets.budgets`, which alone writes it.
    budgets = models.JSONField(default=dict, db_default={}, editable=False)
    default_link_lifetime = models.PositiveIntegerField(
        _("default link lifetime, seconds"), null=True, blank=True
    )
    api_rate = models.PositiveIntegerField(
        _("API requests per 10 s and key"), null=True, blank=True
    )
    cool_down = _limit(_("seconds between codes to one phone"))
    codes_per_10_min = _limit(_("codes to one phone in 10 minutes"))
    codes_per_hour = _limit(_("codes to one phone in an hour"))
    codes_per_day = _limit(_("codes to one phone in 24 hours"))
    links_per_10_min = _limit(_("links to one phone in 10 minutes"))
    links_per_day = _limit(_("links to one phone in 24 hours"))
    falls_back = models.BooleanField(_("falls back"), default=False, db_default=False)
    fallback_chain = ArrayField(
        models.CharField(max_length=10),
        verbose_name=_("fallback chain"),
        default=list,
        blank=True,
        db_default=[],
    )
    # Channel → seconds for a proof; its own patience where missing.
    patience = models.JSONField(default=dict, db_default={}, editable=False)
    fallback_max_cost = _limit(_("tokens that a fallback may cost"))
    # one of its own; empty: the service's
    link_host = models.CharField(
        _("host of short links"), max_length=253, blank=True, default="", db_default=""
    )
    # with all that is under them; empty: any
    link_targets = ArrayField(
        models.CharField(max_length=253),
        verbose_name=_("sites that links may lead to"),
        default=list,
        blank=True,
        db_default=[],
    )
    # a query; `{channel}` is the message's
    link_utm = models.CharField(
        _("tags added to targets"), max_length=300, blank=True, default="", db_default=""
    )
    link_expired_url = models.TextField(
        _("where expired links lead"), blank=True, default="", db_default=""
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    objects = CompanyQuerySet.as_manager()

    class Meta:
        verbose_name = _("company")
        verbose_name_plural = _("companies")
        constraints = [
            models.CheckConstraint(
                condition=Q(code_length__gte=4, code_length__lte=8), name="company_code_length"
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def one_line_name(self) -> str:
        """The name for e-mails; names stored before validation may hold anything."""
        return company_names.one_line(self.name)

    @property
    def name_for_strangers(self) -> str:
        """Empty when a mail program might make a link of it."""
        return self.one_line_name if company_names.cannot_become_a_link(self.name) else ""


class Member(models.Model):
    class Role(models.TextChoices):
        OWNER = "owner", _("owner")
        DEVELOPER = "developer", _("developer")
        ACCOUNTANT = "accountant", _("accountant")
        VIEWER = "viewer", _("viewer")

    company = models.ForeignKey(
        Company, models.CASCADE, related_name="members", verbose_name=_("company")
    )
    user = models.ForeignKey(
        User, models.CASCADE, related_name="memberships", verbose_name=_("user")
    )
    role = models.CharField(_("role"), max_length=10, choices=Role.choices)
    # Given by a group of the identity provider; counts in the sessions that it opened.
    from_provider = models.BooleanField(
        _("by the identity provider"), default=False, db_default=False, editable=False
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("member")
        verbose_name_plural = _("members")
        constraints = [
            models.UniqueConstraint(fields=["company", "user"], name="member_once_per_company")
        ]

    def __str__(self) -> str:
        return f"{self.user} · {self.get_role_display()}"

    @property
    def can_manage_members(self) -> bool:
        return self.role == self.Role.OWNER

    @property
    def can_manage_keys(self) -> bool:
        return self.role in {self.Role.OWNER, self.Role.DEVELOPER}

    @property
    def can_see_phones(self) -> bool:
        """Whole; viewers and accountants see them masked, and leave with no list of customers."""
        return self.role in {self.Role.OWNER, self.Role.DEVELOPER}

    @property
    def can_change_settings(self) -> bool:
        return self.role in {self.Role.OWNER, self.Role.DEVELOPER}

    @property
    def can_see_money(self) -> bool:
        return self.role != self.Role.DEVELOPER

    @property
    def can_manage_money(self) -> bool:
        return self.role in {self.Role.OWNER, self.Role.ACCOUNTANT}


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def open(self) -> "InvitationQuerySet":
        """Neither accepted, revoked nor expired."""
        since = timezone.now() - Invitation.LIFETIME
        return self.filter(accepted_at=None, revoked_at=None, sent_at__gt=since)


class Invitation(models.Model):
    """An invitation to an e-mail address, accepted by the link in the e-mail."""

    LIFETIME = timedelta(days=7)

    company = models.ForeignKey(Company, models.CASCADE, related_name="invitations")
    email = models.EmailField(_("e-mail"), max_length=254)
    role = models.CharField(_("role"), max_length=10, choices=Member.Role.choices)
    invited_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    sent_at = models.DateTimeField(_("sent"), default=timezone.now)
    accepted_at = models.DateTimeField(_("accepted"), null=True)
    revoked_at = models.DateTimeField(_("called off"), null=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        verbose_name = _("invitation")
        verbose_name_plural = _("invitations")
        constraints = [
            models.UniqueConstraint(
                "company",
                Lower("email"),
                condition=Q(accepted_at__isnull=True, revoked_at__isnull=True),
                name="invitation_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.email} · {self.get_role_display()}"

    @property
    def expires_at(self) -> datetime:
        return self.sent_at + self.LIFETIME


class Scope(models.TextChoices):
    OTP = "otp", _("one-time codes")
    LINKS = "links", _("short links")
    MESSAGES = "messages", _("message history")
    BALANCE = "balance", _("balance")
    TOP_UP = "top_up", _("top-up")
    WEBHOOKS = "webhooks", _("webhooks")
    PERSONS = "persons", _("personal data: export and erasure")


def every_scope() -> list[str]:
    return list(Scope.values)


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def active(self) -> "ApiKeyQuerySet":
        return self.filter(
            Q(expires_at__isnull=True) | Q(expires_at__gt=Now()), revoked_at__isnull=True
        )


class ApiKey(models.Model):
    """Stores the SHA-256 of the key, and its start and end for display."""

    ROTATION = timedelta(hours=24)  # how long a replaced key overlaps with its successor

    company = models.ForeignKey(
        Company, models.CASCADE, related_name="api_keys", verbose_name=_("company")
    )
    mode = models.CharField(_("mode"), max_length=4, choices=Mode)
    name = models.CharField(_("name"), max_length=60)
    prefix = models.CharField(_("begins with"), max_length=16)
    last4 = models.CharField(_("ends with"), max_length=4)
    digest = models.BinaryField(max_length=32, unique=True)
    scopes = ArrayField(
        models.CharField(max_length=10), default=every_scope, verbose_name=_("scopes")
    )
    allowed_ips = ArrayField(
        models.CharField(max_length=43),
        verbose_name=_("allowed IP addresses"),
        default=list,
        blank=True,
        help_text=_("addresses or networks; leave empty to allow any"),
    )
    created_by = models.ForeignKey(
        User, models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("created by")
    )
    created_at = models.DateTimeField(_("created"), auto_now_add=True)
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    revoked_at = models.DateTimeField(_("revoked"), null=True, blank=True)
    last_used_at = models.DateTimeField(_("last used"), null=True, blank=True)

    objects = ApiKeyQuerySet.as_manager()

    class Meta:
        verbose_name = _("API key")
        verbose_name_plural = _("API keys")
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return f"{self.prefix}…{self.last4}"

    @property
    def is_active(self) -> bool:
        is_expired = self.expires_at is not None and self.expires_at <= timezone.now()
        return self.revoked_at is None and not is_expired

    @property
    def is_ending(self) -> bool:
        """Whether it expires within a day, replaced or not."""
        last = timezone.now() + self.ROTATION
        return self.is_active and self.expires_at is not None and self.expires_at <= last

    @property
    def limited_to(self) -> str:
        """The labels of its scopes; empty when it has all."""
        if set(self.scopes) == set(Scope.values):
            return ""
        return ", ".join(str(Scope(one).label) for one in self.scopes)
