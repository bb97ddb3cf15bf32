"""A wallet per company, its transfers and their sums, budgets and alerts."""

from uuid import UUID

from django.db import models
from django.db.models import ExpressionWrapper, F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from accounts.models import Company, User


class Wallet(models.Model):
    """The sum of a company's transfers, cached for speed. Only `ledger` writes it."""

    company = models.OneToOneField(
        Company, models.PROTECT, primary_key=True, verbose_name=_("company")
    )
    available = models.BigIntegerField(_("available"), default=0)
    held = models.BigIntegerField(_("held"), default=0)
    # The time of the last change of the balance, by the newest transfer.
    moved_at = models.DateTimeField(null=True, editable=False)
    # Budget usage: tokens held on this day, by API key too ("0": the cabinet), and in this hour by
    # country.
    day = models.DateField(null=True, editable=False)
    day_tokens = models.BigIntegerField(default=0, db_default=0, editable=False)
    hour = models.DateTimeField(null=True, editable=False)
    hour_tokens = models.JSONField(default=dict, db_default={}, editable=False)
    key_tokens = models.JSONField(default=dict, db_default={}, editable=False)

    class Meta:
        verbose_name = _("wallet")
        verbose_name_plural = _("wallets")
        constraints = [
            models.CheckConstraint(condition=Q(available__gte=0), name="wallet_available"),
            models.CheckConstraint(condition=Q(held__gte=0), name="wallet_held"),
        ]

    def __str__(self) -> str:
        return f"{self.available} + {self.held}"


class TransferQuerySet(models.QuerySet["Transfer"]):
    def of_message(self, message_id: UUID) -> "TransferQuerySet":
        return self.filter(message_id=message_id).order_by("created_at", "id")

    def with_key(self, key: str) -> "TransferQuerySet":
        return self.filter(message_id=None, key=key)  # like the index on keys


class Transfer(models.Model):
    """A movement between two accounts; the kind names both, so it balances by construction."""

    class Kind(models.TextChoices):
        TOP_UP = "top_up", _("top-up")
        GRANT = "grant", _("granted")
        WITHDRAW = "withdraw", _("withdrawn")
        HOLD = "hold", _("held")
        CAPTURE = "capture", _("charged")
        RELEASE = "release", _("returned")

    # SQL: what a transfer of a kind adds to its company's available and held tokens.
    AVAILABLE = """CASE WHEN kind IN ('top_up', 'grant', 'release') THEN amount
  WHEN kind IN ('withdraw', 'hold') THEN -amount ELSE 0 END"""
    HELD = """CASE WHEN kind = 'hold' THEN amount WHEN kind IN ('capture', 'release') THEN -amount
  ELSE 0 END"""

    class Proof(models.TextChoices):
        RECEIPT = "receipt", _("delivery receipt")
        HANDED_OVER = "handed_over", _("handed over; the channel has no receipts")
        CODE_ENTERED = "code_entered", _("the code was entered")
        CLICK = "click", _("the link was opened")

    company = models.ForeignKey(
        Company,
        models.PROTECT,
        related_name="transfers",
        db_index=False,
        db_constraint=False,
        verbose_name=_("company"),
    )
    kind = models.CharField(_("kind"), max_length=8, choices=Kind.choices)
    amount = models.PositiveBigIntegerField(_("tokens"))
    # The idempotency key; null for transfers of messages.
    key = models.CharField(_("key"), max_length=80, null=True, blank=True)  # noqa: DJ001 - null: of a message
    message_id = models.UUIDField(_("message"), null=True, blank=True)
    # The number of the message's hold that it opens or settles.
    hold = models.PositiveSmallIntegerField(_("hold number"), null=True, blank=True)
    proof = models.CharField(_("proof"), max_length=12, choices=Proof.choices, blank=True)
    reason = models.CharField(_("reason"), max_length=200, blank=True)
    created_by = models.ForeignKey(
        User,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
        db_constraint=False,
        verbose_name=_("created by"),
    )
    created_at = models.DateTimeField(_("time"), db_default=Now())
    # Available and held balances; null if tokens move only between the two.
    balance_after = models.BigIntegerField(null=True, editable=False)

    objects = TransferQuerySet.as_manager()

    class Meta:
        verbose_name = _("transfer")
        verbose_name_plural = _("transfers")
        constraints = [
            models.CheckConstraint(condition=Q(amount__gt=0), name="transfer_amount"),
            models.CheckConstraint(
                condition=(Q(kind="capture") & ~Q(proof="")) | (~Q(kind="capture") & Q(proof="")),
                name="transfer_capture_has_proof",
            ),
            models.UniqueConstraint(
                fields=["message_id"], condition=Q(kind="capture"), name="transfer_one_capture"
            ),
            # A hold is opened once and settled once. Also serves lookups by message.
            models.UniqueConstraint(
                "message_id",
                "hold",
                ExpressionWrapper(Q(kind="hold"), models.BooleanField()),
                name="transfer_hold_once",
            ),
            models.UniqueConstraint(
                fields=["key"], condition=Q(message_id__isnull=True), name="transfer_key_once"
            ),
            models.CheckConstraint(
                condition=Q(message_id__isnull=True, hold__isnull=True, key__isnull=False)
                | Q(message_id__isnull=False, hold__isnull=False),
                name="transfer_has_hold_or_key",
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["hold", "release"], balance_after__isnull=True)
                | Q(
                    kind__in=["top_up", "grant", "withdraw", "capture"], balance_after__isnull=False
                ),
                name="transfer_has_balance",
            ),
        ]
        indexes = [
            # Ascending, and read backwards: an index that grows at its left end stays half empty.
            models.Index(fields=["company", "created_at", "id"], name="transfer_of_company"),
            models.Index(  # these are few: a page of them would otherwise scan all transfers
                F("company"),
                F("created_at").desc(),
                F("id").desc(),
                name="transfer_external",
                condition=Q(kind__in=["top_up", "grant", "withdraw"]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.amount}"


class ArchivedMonth(models.Model):
    """A month detached from the partitioned tables; `operator_admin.archives` writes it.

    Only the tables' owner may write it. The row is created in the commit that detaches the month.
    `sha256` is empty until its file is complete and verified; then its tables are dropped.
    """

    # The first day of the month; the first row covers all earlier months.
    month = models.DateField(primary_key=True)
    detached_at = models.DateTimeField(db_default=Now())
    sha256 = models.CharField(max_length=64, blank=True, db_default="")
    dropped_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.month:%Y-%m}"


class ArchivedSum(models.Model):
    """A company's transfers of one kind in one month, by which its wallet stays provable."""

    month = models.ForeignKey(ArchivedMonth, models.CASCADE, related_name="sums", db_index=False)
    company = models.ForeignKey(
        Company, models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    kind = models.CharField(max_length=8, choices=Transfer.Kind.choices)
    transfers = models.PositiveBigIntegerField()
    tokens = models.PositiveBigIntegerField()
    last_at = models.DateTimeField()  # of the last archived transfer: the statement begins after it

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["company", "month", "kind"], name="archived_sum_once")
        ]

    def __str__(self) -> str:
        return f"{self.month_id:%Y-%m} {self.kind}: {self.tokens}"


class Budget(models.Model):
    """Tokens a company may spend in a day or, by country, in a clock hour."""

    # Values in place of a country: the day's budget; the hourly budget of other countries.
    DAY = ""
    ANY = "*"
    UNKNOWN = "ZZ"  # numbers that belong to no country

    company = models.ForeignKey(
        Company, models.CASCADE, related_name="+", db_index=False, verbose_name=_("company")
    )
    country = models.CharField(
        _("country"),
        max_length=2,
        blank=True,
        help_text=_("ISO 3166; empty: the company's day; *: an hour in any other country"),
    )
    fixed_tokens = models.PositiveBigIntegerField(
        _("tokens"), null=True, blank=True, help_text=_("leave empty to base it on recent spending")
    )
    usual_tokens = models.PositiveBigIntegerField(
        _("based on recent spending"), null=True, blank=True, editable=False
    )

    class Meta:
        verbose_name = _("budget")
        verbose_name_plural = _("budgets")
        constraints = [models.UniqueConstraint(fields=["company", "country"], name="budget_once")]

    def __str__(self) -> str:
        return f"{self.company} {self.country}"


class SpentDay(models.Model):
    """Tokens held on a past day, by country: the base of usual budgets."""

    company = models.ForeignKey(Company, models.CASCADE, related_name="+")
    country = models.CharField(max_length=2)
    day = models.DateField()
    tokens = models.PositiveBigIntegerField()
    busiest_hour = models.PositiveBigIntegerField()

    class Meta:
        verbose_name = _("spending of a day")
        verbose_name_plural = _("spending by day")
        constraints = [
            models.UniqueConstraint(fields=["day", "company", "country"], name="spent_day_once")
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.country}: {self.tokens}"


class BalanceAlert(models.Model):
    """An alert, sent once when the level is crossed, and again only after the level was left."""

    class Kind(models.TextChoices):
        TOKENS = "tokens", _("tokens left")
        DAYS = "days", _("days left at last week's rate")
        BUDGET = "budget", _("percent of the daily budget used")

    company = models.ForeignKey(
        Company, models.CASCADE, related_name="balance_alerts", db_index=False
    )
    kind = models.CharField(_("alert"), max_length=6, choices=Kind.choices)
    level = models.PositiveBigIntegerField(_("level"))
    notified_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        verbose_name = _("balance alert")
        verbose_name_plural = _("balance alerts")
        constraints = [
            models.UniqueConstraint(fields=["company", "kind", "level"], name="balance_alert_once")
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.level}"
