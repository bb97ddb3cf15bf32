"""People we write to: who opted out, who shared a contact, and under which vendor's id."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class BlockedPhone(models.Model):
    """Nothing is sent here: the person said STOP, or the operator did."""

    phone = models.CharField(_("phone"), max_length=16, unique=True)
    reason = models.CharField(_("reason"), max_length=200, blank=True)
    # START of the person lifts what the person's STOP has set, and nothing else.
    said_stop = models.BooleanField(_("said STOP"), default=False, db_default=False, editable=False)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("blocked phone")
        verbose_name_plural = _("blocked phones")
        constraints = [
            # In any other spelling a row would block nothing.
            models.CheckConstraint(
                condition=Q(phone__regex=r"^\+[0-9]{5,15}$"), name="blocked_phone_is_e164"
            )
        ]

    def __str__(self) -> str:
        return self.phone


class Contact(models.Model):
    """A person who shared their phone with our Telegram bot, and so can be written to."""

    phone = models.CharField(_("phone"), max_length=16, unique=True)
    chat_id = models.BigIntegerField(_("chat"), unique=True)
    shared_at = models.DateTimeField(_("shared"), db_default=Now())
    blocked_at = models.DateTimeField(_("blocked the bot"), null=True)

    class Meta:
        verbose_name = _("bot contact")
        verbose_name_plural = _("bot contacts")

    def __str__(self) -> str:
        return self.phone


class KnownRecipient(models.Model):
    """A vendor's own id of a person we sent to: some tell it in place of the phone."""

    vendor = models.CharField(max_length=20)
    user_id = models.CharField(max_length=150)
    attempt_id = models.UUIDField()  # the latest: its message has the phone, while it is kept
    seen_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["vendor", "user_id"], name="known_recipient_once")
        ]

    def __str__(self) -> str:
        return f"{self.vendor} {self.user_id}"
