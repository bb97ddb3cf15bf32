"""The audit log."""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from accounts.models.people import Company
from accounts.models.users import User


class AuditEvent(models.Model):
    """Who did what. A database trigger makes rows immutable.

    Deletions elsewhere must not touch a row, so its references have no constraint: it keeps the
    ids of deleted users and companies, and `actor` keeps the e-mail address.
    """

    company = models.ForeignKey(
        Company,
        models.DO_NOTHING,
        related_name="audit",
        null=True,
        db_constraint=False,
        db_index=False,  # audit_of_company begins with it
        verbose_name=_("company"),
    )
    user = models.ForeignKey(
        User,
        models.DO_NOTHING,
        null=True,
        related_name="+",
        db_constraint=False,
        verbose_name=_("user"),
    )
    actor = models.CharField(_("e-mail at the time"), max_length=254, default="", db_default="")
    action = models.CharField(_("action"), max_length=40)
    subject = models.CharField(_("subject"), max_length=200)
    # Field → [old, new], phones masked and secrets left out; null where nothing had values.
    changes = models.JSONField(_("old and new values"), null=True)
    ip = models.GenericIPAddressField(_("IP address"), null=True)
    created_at = models.DateTimeField(_("time"), db_default=Now())

    class Meta:
        verbose_name = _("audit event")
        verbose_name_plural = _("audit events")
        indexes = [models.Index(fields=["company", "-created_at"], name="audit_of_company")]

    def __str__(self) -> str:
        return f"{self.action} {self.subject}"
