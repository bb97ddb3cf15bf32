"""Balances along a company's history, so that no page sums all of it."""

from django.db import models

from accounts.models import Company


class RunningBalance(models.Model):
    """The balance right after one transfer; about every 250th has one.

    `running_balances` writes it, behind the transfers and never with one.
    """

    company = models.ForeignKey(Company, models.CASCADE, related_name="+", db_index=False)
    created_at = models.DateTimeField()  # of the transfer
    transfer_id = models.BigIntegerField()
    balance = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["company", "created_at", "transfer_id"], name="running_balance_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.created_at}: {self.balance}"
