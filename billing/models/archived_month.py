"""What the books keep of months whose transfers lie in an archive: their sums."""

from django.db import models
from django.db.models.functions import Now

from accounts.models import Company
from billing.models.wallet import Transfer


class ArchivedMonth(models.Model):
    """A month that was taken out of the partitioned tables; `operator_admin.archive` writes it.

    The tables' owner alone may write it. The row is made in the commit that detaches the month.
    `sha256` is empty until its file is complete and proved; then its tables are dropped.
    """

    month = models.DateField(primary_key=True)  # its first day; the first one holds all earlier
    detached_at = models.DateTimeField(db_default=Now())
    sha256 = models.CharField(max_length=64, blank=True, db_default="")
    dropped_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.month:%Y-%m}"


class ArchivedSum(models.Model):
    """A company's transfers of one kind in one month: with them its wallet is still proved."""

    month = models.ForeignKey(ArchivedMonth, models.CASCADE, related_name="sums", db_index=False)
    company = models.ForeignKey(
        Company, models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    kind = models.CharField(max_length=8, choices=Transfer.Kind.choices)
    transfers = models.PositiveBigIntegerField()
    tokens = models.PositiveBigIntegerField()
    last_at = models.DateTimeField()  # of the last one: its statement begins after it

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["company", "month", "kind"], name="archived_sum_once")
        ]

    def __str__(self) -> str:
        return f"{self.month_id:%Y-%m} {self.kind}: {self.tokens}"
