"""API keys of companies."""

from datetime import timedelta
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models.companies import Company, Mode
from accounts.models.people import Member
from accounts.models.roles import Scope, every_scope, scopes_of_role
from accounts.models.users import User

PURPOSE_LENGTH = 64  # characters


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def active(self) -> "ApiKeyQuerySet":
        return self.filter(
            Q(expires_at__isnull=True) | Q(expires_at__gt=Now()), revoked_at__isnull=True
        )

    def with_creator_role(self) -> "ApiKeyQuerySet":
        creators = Member.objects.filter(
            company=models.OuterRef("company"), user=models.OuterRef("created_by")
        )
        return self.annotate(creator_role=models.Subquery(creators.values("role")))


class ApiKey(models.Model):
    """An API key: its SHA-256, and its first and last characters for display."""

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
    # The purpose of its codes; empty: an ordinary key. A key with a purpose only serves the clients
    # of other services (`compat`): it reads no history and tops up nothing.
    purpose = models.CharField(
        _("purpose"), max_length=PURPOSE_LENGTH, blank=True, default="", db_default=""
    )
    # PEM; verifies tokens that the client signs itself: `accounts.keys.signed_tokens`.
    public_key = models.TextField(_("public key"), blank=True, default="", db_default="")
    # Set by `billing.budgets.key_limits`; None: only the company's budgets limit it.
    day_limit = models.PositiveBigIntegerField(_("tokens per day"), null=True, blank=True)
    last_used_at = models.DateTimeField(_("last used"), null=True, blank=True)

    objects = ApiKeyQuerySet.as_manager()

    class Meta:
        verbose_name = _("API key")
        verbose_name_plural = _("API keys")
        ordering = ["-created_at", "-id"]
        constraints = [
            models.CheckConstraint(
                condition=(Q(purpose="") & ~Q(scopes__contains=[Scope.VERIFY.value]))
                | (~Q(purpose="") & Q(scopes=[Scope.VERIFY.value])),
                name="api_key_kind",
            )
        ]

    def __str__(self) -> str:
        return f"{self.prefix}…{self.last4}"

    @property
    def application_id(self) -> str:
        """The key's id in tokens that its client signs; derived from the primary key: no secret."""
        return str(UUID(int=self.pk))

    @property
    def is_active(self) -> bool:
        is_expired = self.expires_at is not None and self.expires_at <= timezone.now()
        return self.revoked_at is None and not is_expired

    @property
    def is_ending(self) -> bool:
        """Whether the key is active and expires within a day, replaced or not."""
        last = timezone.now() + self.ROTATION
        return self.is_active and self.expires_at is not None and self.expires_at <= last

    @property
    def limited_to(self) -> str:
        """The labels of its scopes; empty when the key has all scopes of its kind."""
        has_all = self.purpose or set(self.scopes) == set(every_scope())
        return "" if has_all else _labels(self.scopes)

    def lost_scopes(self, role: str | None) -> str:
        """The labels of its scopes that a member of this role may not give a key."""
        return _labels([scope for scope in self.scopes if scope not in scopes_of_role(role)])

    @property
    def suspended_scopes(self) -> str:
        """The labels of its scopes that its creator has lost; needs `with_creator_role`."""
        return self.lost_scopes(getattr(self, "creator_role", None))


def _labels(scopes: list[str]) -> str:
    return ", ".join(str(Scope(scope).label) for scope in scopes)
