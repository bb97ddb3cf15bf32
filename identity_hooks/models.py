"""Hooks: the URLs that companies' identity servers call."""

from datetime import timedelta
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.crypto import get_random_string
from django.utils.translation import gettext_lazy as _

from accounts.models import Company, Mode, User

PATH = "/hooks/identity"
ID_LENGTH = 24  # 142 bits: a URL that nobody guesses
NAME_LENGTH = 60
PURPOSE_LENGTH = 64


def new_url_id() -> str:
    return get_random_string(ID_LENGTH)


class HookQuerySet(models.QuerySet["Hook"]):
    def active(self) -> "HookQuerySet":
        return self.filter(revoked_at=None)


class Hook(models.Model):
    """The URL that an identity server of one kind calls; it contains no phone and no code.

    Secrets are stored encrypted: some are the server's own, so none can be derived.
    """

    ROTATION = timedelta(hours=24)  # how long a replaced secret is accepted next to the new one

    company = models.ForeignKey(
        Company, models.CASCADE, related_name="identity_hooks", verbose_name=_("company")
    )
    mode = models.CharField(_("mode"), max_length=4, choices=Mode.choices)
    kind = models.CharField(_("identity server"), max_length=20)  # of `identity_hooks.kinds`
    name = models.CharField(_("name"), max_length=NAME_LENGTH)
    url_id = models.CharField(max_length=32, default=new_url_id, editable=False)
    secret = models.TextField()  # encrypted, like the previous one
    previous_secret = models.TextField(blank=True, default="", db_default="")
    previous_until = models.DateTimeField(_("the replaced secret works until"), null=True)
    allowed_ips = ArrayField(
        models.CharField(max_length=43),
        verbose_name=_("allowed IP addresses"),
        default=list,
        blank=True,
    )
    # Empty: the purpose that the server gives, if any.
    purpose = models.CharField(_("purpose"), max_length=PURPOSE_LENGTH, blank=True)
    # The only channels to try, in this order; empty: the company's.
    channels = ArrayField(
        models.CharField(max_length=8), verbose_name=_("channels"), default=list, blank=True
    )
    code_length = models.PositiveSmallIntegerField(_("digits of the code"), default=6)
    mapping = models.JSONField(_("mapping"), default=dict, blank=True)  # of the generic kind
    created_by = models.ForeignKey(
        User, models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("created by")
    )
    created_at = models.DateTimeField(_("created"), db_default=Now())
    revoked_at = models.DateTimeField(_("revoked"), null=True)
    last_used_at = models.DateTimeField(_("last used"), null=True)

    objects = HookQuerySet.as_manager()

    class Meta:
        verbose_name = _("identity server's connection")
        verbose_name_plural = _("connections of identity servers")
        ordering = ["-created_at", "-id"]
        constraints = [models.UniqueConstraint(fields=["url_id"], name="hook_url_once")]

    def __str__(self) -> str:
        return f"{self.name} ({self.kind})"

    @property
    def path(self) -> str:
        return f"{PATH}/{self.kind}/{self.url_id}"

    @property
    def reference(self) -> str:
        """The reference by which repeats of a code are recognised."""
        return f"hook:{self.pk}"

    @property
    def is_active(self) -> bool:
        return self.revoked_at is None

    @property
    def is_rotating(self) -> bool:
        return self.previous_until is not None and self.previous_until > timezone.now()

    @property
    def settings(self) -> dict[str, Any]:
        names = ("name", "purpose", "channels", "allowed_ips", "code_length", "mapping")
        return {name: getattr(self, name) for name in names}
