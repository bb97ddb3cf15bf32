"""The audit log, the outbox of e-mails, and tables that only the service reads."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.models.companies import Company
from accounts.models.users import User
from catalogue.ids import uuid7

OPERATOR = _("The operator of the service")


class AuditEvent(models.Model):
    """A person's action. A database trigger makes rows immutable.

    A company sees neither the e-mail nor the IP address of an operator: `actor_shown`, `ip_shown`.

    Deletions elsewhere must not touch a row, so its references have no constraint: it keeps the ids
    of deleted users and companies, and `actor` keeps the e-mail address.
    """

    company = models.ForeignKey(
        Company,
        models.DO_NOTHING,
        related_name="audit",
        null=True,
        db_constraint=False,
        db_index=False,  # the index audit_of_company begins with it
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
    # Field → [old, new], with phones masked and secrets left out; null for events without values.
    changes = models.JSONField(_("old and new values"), null=True)
    ip = models.GenericIPAddressField(_("IP address"), null=True)
    by_operator = models.BooleanField(
        _("by the operator of the service"), default=False, db_default=False
    )
    created_at = models.DateTimeField(_("time"), db_default=Now())

    class Meta:
        verbose_name = _("audit event")
        verbose_name_plural = _("audit events")
        indexes = [models.Index(fields=["company", "-created_at"], name="audit_of_company")]

    def __str__(self) -> str:
        return f"{self.action} {self.subject}"

    @property
    def actor_shown(self) -> str:
        return str(OPERATOR) if self.by_operator else self.actor or gettext("the service")

    @property
    def ip_shown(self) -> str:
        return "" if self.by_operator else self.ip or ""


class CacheEntry(models.Model):
    key = models.CharField(max_length=260, primary_key=True)
    value = models.JSONField()
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name = "cache entry"
        verbose_name_plural = "cache entries"

    def __str__(self) -> str:
        return self.key


class CompanyChange(models.Model):
    """A transaction that changed a company, its keys, members or texts; only a company's last is
    kept.
    """

    EVERY_COMPANY: ClassVar[int] = 0  # a table was truncated

    pk = models.CompositePrimaryKey("transaction_id", "company_id")
    transaction_id = models.BigIntegerField()
    company_id = models.BigIntegerField()  # no foreign key, which would lock the company's row

    class Meta:
        verbose_name = "company change"
        verbose_name_plural = "company changes"
        indexes = [models.Index(fields=["company_id"], name="company_change_of_company")]

    def __str__(self) -> str:
        return f"{self.company_id} by {self.transaction_id}"


class JobFailure(models.Model):
    job = models.CharField(_("job"), max_length=40)
    subject = models.CharField(_("subject"), max_length=80)  # ids of the job's work
    company = models.ForeignKey(
        Company,
        models.CASCADE,
        null=True,
        related_name="+",
        db_index=False,
        db_constraint=False,
        verbose_name=_("company"),
    )
    tries = models.PositiveIntegerField(_("tries"), default=0)
    error = models.CharField(_("error"), max_length=80)  # a type: a text might name a person
    failed_at = models.DateTimeField(_("last failed"))
    due_at = models.DateTimeField(_("next try"))
    gave_up_at = models.DateTimeField(_("given up"), null=True)

    class Meta:
        verbose_name = _("failed work")
        verbose_name_plural = _("failed work")
        constraints = [models.UniqueConstraint(fields=["job", "subject"], name="job_failure_once")]

    def __str__(self) -> str:
        return f"{self.job} {self.subject}"


class Mail(models.Model):
    """An e-mail. Its text is deleted once sent, since it may contain a sign-in or reset link."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    template = models.CharField(_("template"), max_length=60)
    to = models.EmailField(_("to"), max_length=254)
    subject = models.CharField(_("subject"), max_length=255)
    text = models.TextField()
    html = models.TextField(blank=True)
    # For the List-Unsubscribe header; empty for e-mails that cannot be switched off.
    unsubscribe_url = models.CharField(max_length=500, blank=True, default="", db_default="")
    key = models.CharField(max_length=120, null=True, unique=True)  # noqa: DJ001 - null: no key
    tries = models.PositiveSmallIntegerField(_("tries"), default=0, db_default=0)
    due_at = models.DateTimeField(_("next try"), null=True, db_default=Now())  # null: final
    error = models.CharField(_("error"), max_length=200, blank=True, db_default="")
    created_at = models.DateTimeField(_("created"), db_default=Now())
    sent_at = models.DateTimeField(_("sent"), null=True)

    class Meta:
        verbose_name = _("outgoing e-mail")
        verbose_name_plural = _("outgoing e-mails")
        indexes = [
            models.Index(fields=["due_at"], name="mail_due", condition=Q(due_at__isnull=False)),
            models.Index(fields=["created_at"], name="mail_created"),
            # Budget warnings find their e-mails by a prefix of the key.
            models.Index(fields=["key"], name="mail_key_prefix", opclasses=["varchar_pattern_ops"]),
        ]

    def __str__(self) -> str:
        return self.subject
