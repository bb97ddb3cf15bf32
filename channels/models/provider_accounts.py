"""The operator's settings of a provider account, and the state of its circuit breaker."""

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

MAX_PREFIXES = 200
PREFIX = r"^\+[1-9][0-9]{0,14}$"


class ProviderAccount(models.Model):
    """Settings of an account; without a row the defaults apply. `claim.sql` chooses among accounts.

    The breaker is closed while `open_until` is null, open until that time, and half-open after it:
    one message probes the account, and its outcome closes or reopens the breaker.
    """

    name = models.CharField(_("name"), max_length=40, unique=True, editable=False)
    is_enabled = models.BooleanField(_("enabled"), default=True, db_default=True)
    position = models.PositiveSmallIntegerField(
        _("sequence number"),
        default=0,
        db_default=0,
        help_text=_("The smallest number is tried first."),
    )
    weight = models.PositiveSmallIntegerField(
        _("share of messages"),
        default=1,
        db_default=1,
        validators=[MinValueValidator(1), MaxValueValidator(1000)],
        help_text=_("Accounts with the same sequence number share messages in this proportion."),
    )
    is_share_fixed = models.BooleanField(
        _("keep the share"),
        default=False,
        db_default=False,
        help_text=_("Otherwise messages move to the accounts whose codes are entered more often."),
    )
    prefixes = ArrayField(
        models.CharField(
            max_length=16,
            validators=[RegexValidator(PREFIX, _("A plus and digits, such as +7701."))],
        ),
        verbose_name=_("phones"),
        size=MAX_PREFIXES,
        default=list,
        db_default=[],
        blank=True,
        help_text=_(
            "Prefixes separated by commas, such as +7701, +7702. Leave empty for every phone."
        ),
    )
    max_per_second = models.PositiveIntegerField(
        _("messages per second, at most"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(10_000)],
    )

    # Why the account is not in use; `vendor_accounts.pauses` writes both fields.
    pause_reason = models.CharField(max_length=200, blank=True, db_default="", editable=False)
    # The pause ends with that of the channel.
    is_paused_with_channel = models.BooleanField(default=False, db_default=False, editable=False)

    # Encrypted JSON of the options that an operator entered; empty if they come from the
    # environment or are missing. `vendor_accounts.stored_credentials` writes it.
    credentials = models.TextField(blank=True, default="", db_default="", editable=False)
    credentials_changed_at = models.DateTimeField(null=True, editable=False)

    # Factor of its weight, by the correct codes of its messages. `account_shares` writes it.
    share_factor = models.FloatField(default=1.0, db_default=1.0, editable=False)

    # Written only by `circuit_breaker` and `claims.CLAIM_COUNTED`.
    opened_at = models.DateTimeField(_("breaker opened"), null=True, editable=False)
    open_until = models.DateTimeField(null=True, editable=False)
    probed_at = models.DateTimeField(null=True, editable=False)
    # trips since it last closed
    trips = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    reason = models.CharField(max_length=200, blank=True, db_default="", editable=False)
    tat = models.DateTimeField(null=True, editable=False)  # GCRA: theoretical arrival time

    class Meta:
        verbose_name = _("provider account")
        verbose_name_plural = _("provider accounts")
        constraints = [
            models.CheckConstraint(condition=Q(weight__gte=1), name="account_weight"),
            models.CheckConstraint(
                condition=Q(max_per_second__isnull=True) | Q(max_per_second__gte=1),
                name="account_rate",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class ProviderAlert(models.Model):
    """A vendor's alert about our account, not about a message; `vendor_alerts` writes it."""

    provider = models.CharField(_("provider"), max_length=40)
    code = models.CharField(_("provider's code"), max_length=60)
    detail = models.CharField(_("provider's message"), max_length=300, blank=True)
    kind = models.CharField(max_length=9)  # value of providers.inbound.AlertKind
    first_at = models.DateTimeField(_("first received"), db_default=Now())
    at = models.DateTimeField(_("last received"), db_default=Now())
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


class VendorApproval(models.Model):
    """A template or sender that a vendor has to approve, with its state at the last read.

    `vendor_accounts.approvals` writes it.
    """

    class Kind(models.TextChoices):
        TEMPLATE = "template", _("template")
        SENDER = "sender", _("sender")
        CAMPAIGN = "campaign", _("campaign")

    class Status(models.TextChoices):
        APPROVED = "approved", _("approved")
        PENDING = "pending", _("under review")
        REJECTED = "rejected", _("rejected")
        PAUSED = "paused", _("paused")
        DISABLED = "disabled", _("disabled")
        MISSING = "missing", _("the vendor has none of this name")

    provider = models.CharField(_("provider"), max_length=40)
    kind = models.CharField(_("kind"), max_length=8, choices=Kind.choices)
    name = models.CharField(_("name"), max_length=120)
    language = models.CharField(_("language"), max_length=10, blank=True)
    status = models.CharField(_("state"), max_length=8, choices=Status.choices)
    vendor_status = models.CharField(_("provider's status"), max_length=40, blank=True)
    quality = models.CharField(_("quality"), max_length=20, blank=True)
    reason = models.CharField(_("reason"), max_length=300, blank=True)
    is_used = models.BooleanField(_("used by this account"), default=False)
    changed_at = models.DateTimeField(_("since"), db_default=Now())
    seen_at = models.DateTimeField(_("last checked"), db_default=Now())

    class Meta:
        verbose_name = _("approval by a provider")
        verbose_name_plural = _("approvals by providers")
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "kind", "name", "language"], name="vendor_approval_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.provider} {self.name} {self.language}".strip()
