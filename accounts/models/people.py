"""Members of companies with their roles, invitations, and the filters that members have saved."""

from datetime import datetime, timedelta
from typing import TypeAlias

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import roles
from accounts.models.companies import Company
from accounts.models.roles import RoleRights
from accounts.models.users import User


class Member(RoleRights):
    Role: TypeAlias = roles.Role

    company = models.ForeignKey(
        Company, models.CASCADE, related_name="members", verbose_name=_("company")
    )
    user = models.ForeignKey(
        User, models.CASCADE, related_name="memberships", verbose_name=_("user")
    )
    role = models.CharField(_("role"), max_length=10, choices=Role.choices)
    # Granted by a group of the identity provider; effective in sessions opened through it.
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

    def clean(self) -> None:
        """Rejects members of a deleted company, because nothing would delete them later."""
        if self.company_id and self.company.deleted_at is not None:
            raise ValidationError(_("The company is deleted"), code="deleted")


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def open(self) -> "InvitationQuerySet":
        """Pending invitations whose inviter is still an owner who may sign in: a former owner must
        not return through a second mailbox.
        """
        since = timezone.now() - Invitation.LIFETIME
        inviters = Member.objects.filter(
            company=OuterRef("company"),
            user=OuterRef("invited_by"),
            user__is_active=True,
            role=Member.Role.OWNER,
        )
        return self.filter(Exists(inviters), accepted_at=None, revoked_at=None, sent_at__gt=since)


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


class SavedFilter(models.Model):
    """A saved query of a list, without phones and ids that identify a person or an object."""

    MAX_SAVED = 20  # per user, company and list

    class Page(models.TextChoices):
        MESSAGES = "messages", _("Messages")
        REQUESTS = "requests", _("Requests")

    user = models.ForeignKey(User, models.CASCADE, related_name="saved_filters")
    company = models.ForeignKey(Company, models.CASCADE, related_name="+")
    page = models.CharField(_("list"), max_length=10, choices=Page.choices)
    name = models.CharField(_("name"), max_length=40)
    query = models.CharField(_("query"), max_length=1000)
    is_default = models.BooleanField(_("opened first"), default=False, db_default=False)

    class Meta:
        verbose_name = _("saved filter")
        verbose_name_plural = _("saved filters")
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(
                "user", "company", "page", Lower("name"), name="saved_filter_once"
            ),
            models.UniqueConstraint(
                fields=["user", "company", "page"],
                condition=Q(is_default=True),
                name="saved_filter_one_default",
            ),
        ]

    def __str__(self) -> str:
        return self.name
