"""The outbox of e-mails: a row is stored in the transaction that causes it, a worker sends it."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from catalogue.ids import uuid7


class Mail(models.Model):
    """An e-mail. Its text is deleted once sent: it may hold a sign-in or reset link."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    template = models.CharField(_("template"), max_length=60)
    to = models.EmailField(_("to"), max_length=254)
    subject = models.CharField(_("subject"), max_length=255)
    text = models.TextField()
    html = models.TextField(blank=True)
    # From `accounts.outbox.mail`, for the header; empty for e-mails that always come.
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
            # Budget warnings find their mails by the beginning of the key.
            models.Index(fields=["key"], name="mail_key_prefix", opclasses=["varchar_pattern_ops"]),
        ]

    def __str__(self) -> str:
        return self.subject
