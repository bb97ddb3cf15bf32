"""Verifications, and the texts and autofill lines that a company sends its codes with."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from accounts.models import Company, Language, Mode
from config.channels import CHANNELS
from config.ids import public_id, uuid7
from config.texts import StrOrPromise


class Verification(models.Model):
    """A code sent to a phone for a purpose; it is derived from the id and stored only as a MAC."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    company = models.ForeignKey(
        Company,
        models.PROTECT,
        related_name="verifications",
        db_index=False,
        db_constraint=False,
        verbose_name=_("company"),
    )
    mode = models.CharField(_("mode"), max_length=4, choices=Mode.choices)
    phone = models.CharField(_("phone"), max_length=16)
    purpose = models.CharField(_("purpose"), max_length=64)
    mac = models.BinaryField(max_length=32)
    # which of OTP_KEYS made the code and the MAC
    key_id = models.CharField(_("key"), max_length=16)
    length = models.PositiveSmallIntegerField(_("code length"))
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0, db_default=0)
    max_attempts = models.PositiveSmallIntegerField(_("attempts allowed"))
    created_at = models.DateTimeField(_("created"), db_default=Now())
    expires_at = models.DateTimeField(_("expires"))
    judged_at = models.DateTimeField(_("last attempt"), null=True)
    verified_at = models.DateTimeField(_("verified"), null=True)
    superseded_at = models.DateTimeField(_("superseded"), null=True)
    # when the capture and the links that follow from its end were done
    settled_at = models.DateTimeField(_("processed"), null=True)

    class Meta:
        verbose_name = _("verification")
        verbose_name_plural = _("verifications")
        constraints = [
            models.UniqueConstraint(
                fields=["company", "mode", "phone", "purpose"],
                condition=Q(superseded_at__isnull=True),
                name="verification_one_live",
            ),
            models.CheckConstraint(
                condition=Q(attempts__lte=models.F("max_attempts")), name="verification_attempts"
            ),
        ]
        indexes = [
            models.Index(
                fields=["verified_at"],
                name="verification_unsettled",
                condition=Q(verified_at__isnull=False, settled_at__isnull=True),
            ),
            models.Index(
                fields=["expires_at"],
                name="verification_over_early",
                condition=Q(verified_at__isnull=True, settled_at__isnull=True)
                & (Q(superseded_at__isnull=False) | Q(attempts__gte=models.F("max_attempts"))),
            ),
            models.Index(
                fields=["company", "phone", "judged_at"],
                name="verification_failures",
                condition=Q(judged_at__isnull=False),
            ),
            models.Index(
                fields=["created_at"],
                name="verification_with_phone",
                condition=~Q(phone__endswith="*"),
            ),
        ]

    def __str__(self) -> str:
        return self.public_id

    @property
    def public_id(self) -> str:
        return public_id("otp", self.id)


def own_text_channels() -> list[tuple[str, StrOrPromise]]:
    return [(channel.name, channel.title) for channel in CHANNELS if channel.has_own_texts]


class CodeText(models.Model):
    """A company's own text for its codes; the most specific match is sent."""

    LONGEST = 500  # characters

    company = models.ForeignKey(
        Company, models.CASCADE, related_name="code_texts", verbose_name=_("company")
    )
    purpose = models.CharField(_("purpose"), max_length=64, blank=True)  # empty: every purpose
    channel = models.CharField(_("channel"), max_length=10, blank=True, choices=own_text_channels)
    locale = models.CharField(_("language"), max_length=2, choices=Language.choices)
    body = models.CharField(_("text"), max_length=LONGEST)
    changed_at = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        verbose_name = _("text of codes")
        verbose_name_plural = _("texts of codes")
        constraints = [
            models.UniqueConstraint(
                fields=["company", "purpose", "channel", "locale"], name="code_text_once"
            )
        ]

    def __str__(self) -> str:
        scope = [self.purpose, self.get_channel_display(), self.locale]
        return " · ".join(part for part in scope if part)


class Autofill(models.Model):
    """Lines at the end of a company's SMS that let phones autofill the code."""

    company = models.OneToOneField(Company, models.CASCADE, related_name="autofill")
    webotp_host = models.CharField(_("site"), max_length=253, blank=True)
    app_hash = models.CharField(_("Android app"), max_length=11, blank=True)

    class Meta:
        verbose_name = _("autofill")
        verbose_name_plural = _("autofill")

    def __str__(self) -> str:
        return " ".join(part for part in (self.webotp_host, self.app_hash) if part)
