"""Recipients: blocked phones, contacts of our bots, and vendors' user ids."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class BlockedPhone(models.Model):
    """A phone that receives nothing: the person replied STOP, or the operator blocked it."""

    phone = models.CharField(_("phone"), max_length=16, unique=True)
    reason = models.CharField(_("reason"), max_length=200, blank=True)
    # The person's START removes only the block of their own STOP.
    said_stop = models.BooleanField(_("said STOP"), default=False, db_default=False, editable=False)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("blocked phone")
        verbose_name_plural = _("blocked phones")
        constraints = [
            # A phone in any other format would block nothing.
            models.CheckConstraint(
                condition=Q(phone__regex=r"^\+[0-9]{5,15}$"), name="blocked_phone_is_e164"
            )
        ]

    def __str__(self) -> str:
        return self.phone


class Contact(models.Model):
    """A person who shared their phone with one of our bots, which may write to them.

    `shared_at` moves with each consent, `confirmed_at` only when the number itself is shared: the
    carrier may have given it to somebody else since.
    """

    provider = models.CharField(_("provider"), max_length=40)
    phone = models.CharField(_("phone"), max_length=16)
    chat_id = models.BigIntegerField(_("chat"))
    shared_at = models.DateTimeField(_("shared"), db_default=Now())
    confirmed_at = models.DateTimeField(_("number confirmed"), db_default=Now())
    blocked_at = models.DateTimeField(_("blocked the bot"), null=True)

    class Meta:
        verbose_name = _("bot contact")
        verbose_name_plural = _("bot contacts")
        constraints = [
            models.UniqueConstraint(fields=["phone", "provider"], name="contact_phone_once"),
            models.UniqueConstraint(fields=["chat_id", "provider"], name="contact_chat_once"),
        ]

    def __str__(self) -> str:
        return self.phone


class KnownRecipient(models.Model):
    """A vendor's user id of a recipient, which some vendors send instead of the phone."""

    vendor = models.CharField(max_length=20)
    user_id = models.CharField(max_length=150)
    # The latest attempt, whose message has the phone until it is anonymised.
    attempt_id = models.UUIDField()
    seen_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["vendor", "user_id"], name="known_recipient_once")
        ]

    def __str__(self) -> str:
        return f"{self.vendor} {self.user_id}"
