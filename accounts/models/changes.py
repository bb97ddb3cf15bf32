"""Which companies changed what their keys carry: triggers write it, the keys' cache reads it."""

from typing import ClassVar

from django.db import models


class CompanyChange(models.Model):
    """A transaction that changed a company, its keys or its texts; the last one is kept."""

    EVERY_COMPANY: ClassVar[int] = 0  # a table was emptied

    pk = models.CompositePrimaryKey("transaction_id", "company_id")
    transaction_id = models.BigIntegerField()
    company_id = models.BigIntegerField()  # no reference: it would lock the company's row

    class Meta:
        verbose_name = "company change"
        verbose_name_plural = "company changes"
        indexes = [models.Index(fields=["company_id"], name="company_change_of_company")]

    def __str__(self) -> str:
        return f"{self.company_id} by {self.transaction_id}"
