"""Verifications, and the texts and autofill lines of a company's codes."""

from datetime import timedelta

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.models import Company, Mode, User
from catalogue.channels import CHANNELS
from catalogue.ids import public_id, uuid7
from catalogue.languages import message_languages
from catalogue.texts import StrOrPromise
from channels.guard.scope_evidence import ScopeKind


class Verification(models.Model):
    """A code sent to a phone for a purpose; this row has only its MAC.

    The code is derived from the id unless `is_custom`.
    """

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
    # The key of OTP_KEYS that made the code and the MAC.
    key_id = models.CharField(_("key"), max_length=16)
    length = models.PositiveSmallIntegerField(_("code length"))
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0, db_default=0)
    max_attempts = models.PositiveSmallIntegerField(_("attempts allowed"))
    created_at = models.DateTimeField(_("created"), db_default=Now())
    expires_at = models.DateTimeField(_("expires"))
    judged_at = models.DateTimeField(_("last attempt"), null=True)
    verified_at = models.DateTimeField(_("verified"), null=True)
    superseded_at = models.DateTimeField(_("superseded"), null=True)
    # Also set when the code was superseded.
    cancelled_at = models.DateTimeField(pgettext_lazy("code", "cancelled"), null=True)
    # Made by the company, not derived from the id.
    is_custom = models.BooleanField(_("custom code"), default=False, db_default=False)
    # What the person agrees to by entering the code, as JSON: a payment or a document's hash.
    binding = models.JSONField(_("bound to"), null=True)
    # When the charge and the links that depend on the end were settled.
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
                fields=["company", "verified_at"],
                name="verification_reported",
                condition=Q(is_custom=True, verified_at__isnull=False),
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

    @property
    def life(self) -> timedelta:
        return self.expires_at - self.created_at


class SealedCode(models.Model):
    """An encrypted custom code until its message ends; see `otp.sealed_codes`.

    Backups do not contain these rows.
    """

    message_id = models.UUIDField(primary_key=True)
    verification_id = models.UUIDField(db_index=True)
    key_id = models.CharField(max_length=16)  # id in OTP_KEYS
    sealed = models.BinaryField(max_length=64)
    expires_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return str(self.message_id)


def own_text_channels() -> list[tuple[str, StrOrPromise]]:
    return [(channel.name, channel.title) for channel in CHANNELS if channel.has_own_texts]


class CodeText(models.Model):
    """A company's own text for its codes. The most specific match is sent."""

    MAX_LENGTH = 500  # characters

    company = models.ForeignKey(
        Company, models.CASCADE, related_name="code_texts", verbose_name=_("company")
    )
    purpose = models.CharField(_("purpose"), max_length=64, blank=True)  # empty: every purpose
    channel = models.CharField(_("channel"), max_length=10, blank=True, choices=own_text_channels)
    locale = models.CharField(_("language"), max_length=35, choices=message_languages.choices)
    body = models.CharField(_("text"), max_length=MAX_LENGTH)
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


SCOPE_KINDS = [
    (ScopeKind.COMPANY.value, _("company")),
    (ScopeKind.COUNTRY.value, _("country")),
    (ScopeKind.RANGE.value, _("carrier's range")),
    (ScopeKind.TEN_THOUSAND.value, _("ten thousand numbers")),
    (ScopeKind.THOUSAND.value, _("thousand numbers")),
    (ScopeKind.HUNDRED.value, _("hundred numbers")),
    (ScopeKind.IP.value, _("IP address")),
    (ScopeKind.DEVICE.value, _("device")),
]


class GuardEvidence(models.Model):
    """A stored `ScopeEvidence` of one scope of one company."""

    company = models.ForeignKey(
        Company, models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    kind = models.CharField(max_length=8, choices=SCOPE_KINDS)
    value = models.CharField(max_length=32)  # a country, a prefix, or the hash of an address
    country = models.CharField(max_length=4, blank=True)  # country of a prefix
    seen_at = models.DateTimeField()
    score = models.FloatField(default=0.0)
    hits = models.FloatField(default=0.0)
    misses = models.FloatField(default=0.0)
    tokens = models.FloatField(default=0.0)
    norm_at = models.DateTimeField()
    norm_trials = models.FloatField(default=0.0)
    norm_hits = models.FloatField(default=0.0)
    refusals = models.PositiveIntegerField(default=0)
    refused_until = models.DateTimeField(null=True)
    is_apart = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["company", "kind", "value"], name="guard_evidence_of_scope"
            )
        ]
        indexes = [models.Index(fields=["seen_at"], name="guard_evidence_seen")]

    def __str__(self) -> str:
        return f"{self.kind} {self.value}"


class GuardRestriction(models.Model):
    """A restriction of one scope of a company by the guard; see `otp.protection.restrictions`."""

    class Step(models.IntegerChoices):
        """The steps of `channels.guard.guard.GuardStep`."""

        ALLOW = 0, _("let through")
        CHEAP_ONLY = 1, _("no SMS")
        CHALLENGE = 2, _("proof of work")
        REFUSE = 3, _("refused")

    class Rule(models.TextChoices):
        UNVERIFIED = "unverified", _("codes are delivered but not entered")
        PENDING = "pending", _("many codes wait to be entered")
        LIFTED = "lifted", _("let through by a member")

    company = models.ForeignKey(
        Company, models.CASCADE, related_name="+", db_index=False, verbose_name=_("company")
    )
    kind = models.CharField(_("scope"), max_length=8, choices=SCOPE_KINDS)
    value = models.CharField(_("value"), max_length=32)
    country = models.CharField(_("country"), max_length=4, blank=True)  # country of a prefix
    step = models.PositiveIntegerField(_("step"), choices=Step.choices)
    rule = models.CharField(_("rule"), max_length=10, choices=Rule.choices)
    # False in monitoring mode: nothing was held back.
    is_enforced = models.BooleanField(_("enforced"))
    is_early = models.BooleanField(
        _("sooner than usual: other companies are attacked there"), default=False, db_default=False
    )
    codes = models.PositiveIntegerField(_("codes delivered"), default=0)
    entered = models.PositiveIntegerField(_("entered"), default=0)
    excess = models.PositiveIntegerField(_("tokens beyond the usual"), default=0)
    stopped = models.PositiveIntegerField(_("sends held back"), default=0, db_default=0)
    began_at = models.DateTimeField(_("since"))
    until = models.DateTimeField(_("until"))
    ended_at = models.DateTimeField(_("ended"), null=True)
    lifted_by = models.ForeignKey(
        User, models.SET_NULL, null=True, related_name="+", verbose_name=_("lifted by")
    )

    class Meta:
        verbose_name = _("restriction of the guard")
        verbose_name_plural = _("restrictions of the guard")
        constraints = [
            models.UniqueConstraint(
                fields=["company", "kind", "value"],
                condition=Q(ended_at__isnull=True),
                name="guard_restriction_open_once",
            )
        ]
        indexes = [
            models.Index(fields=["company", "-began_at"], name="guard_restriction_of_company"),
            models.Index(fields=["began_at"], name="guard_restriction_began"),
        ]

    def __str__(self) -> str:
        return f"{self.get_step_display()}: {self.value}"


class GuardProgress(models.Model):
    """A single row with the time up to which outcomes of codes are counted.

    The counting worker locks it.
    """

    ONLY = 1

    counted_until = models.DateTimeField()

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="guard_progress_one_row")]

    def __str__(self) -> str:
        return self.counted_until.isoformat()


class GuardReplay(models.Model):
    """The newest replay: the guard's decisions on a company's codes of the last days."""

    company = models.OneToOneField(Company, models.CASCADE, related_name="guard_replay")
    asked_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    tries = models.PositiveIntegerField(default=0)
    finished_at = models.DateTimeField(null=True)
    is_failed = models.BooleanField(default=False)
    codes = models.PositiveIntegerField(default=0)
    refused = models.PositiveIntegerField(default=0)
    challenged = models.PositiveIntegerField(default=0)
    cheap_only = models.PositiveIntegerField(default=0)
    entered = models.PositiveIntegerField(default=0)  # of the codes refused or challenged
    tokens = models.PositiveBigIntegerField(default=0)  # charged for missed codes
    since = models.DateTimeField(null=True)  # time of the oldest code in the replay

    class Meta:
        indexes = [
            models.Index(
                fields=["asked_at"], name="guard_replay_due", condition=Q(finished_at__isnull=True)
            )
        ]

    def __str__(self) -> str:
        return f"{self.company}: {self.asked_at:%Y-%m-%d %H:%M}"

    @property
    def is_finished(self) -> bool:
        return self.finished_at is not None


class GuardReport(models.Model):
    """When a company in monitoring mode gets the next report on the guard."""

    company = models.OneToOneField(Company, models.CASCADE, related_name="+")
    due_at = models.DateTimeField()
    reported_at = models.DateTimeField(null=True)  # time of the last e-mail

    class Meta:
        indexes = [models.Index(fields=["due_at"], name="guard_report_due")]

    def __str__(self) -> str:
        return f"{self.company}: {self.due_at:%Y-%m-%d %H:%M}"
