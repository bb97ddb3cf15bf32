"""What vendors told us beside receipts: of our accounts, and of the people we wrote to."""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


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


class ProviderAlert(models.Model):
    """What a vendor said of our account rather than of a message; `alerts.note` writes it."""

    provider = models.CharField(_("provider"), max_length=40)
    code = models.CharField(_("provider's code"), max_length=60)
    detail = models.CharField(_("the provider's words"), max_length=300, blank=True)
    kind = models.CharField(max_length=9)  # providers.base.AlertKind
    first_at = models.DateTimeField(_("first said"), db_default=Now())
    at = models.DateTimeField(_("last said"), db_default=Now())
    times = models.PositiveIntegerField(_("times"), default=1, db_default=1)

    class Meta:
        verbose_name = _("provider's alert")
        verbose_name_plural = _("providers' alerts")
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "code", "detail"], name="provider_alert_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.provider} {self.code}"
