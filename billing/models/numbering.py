"""The numbers of invoices and documents, in rows without gaps."""

from django.db import models


class NumberCounter(models.Model):
    """The last number of a year. Its row is locked until what is numbered is committed."""

    year = models.PositiveSmallIntegerField(primary_key=True)
    last = models.PositiveIntegerField(default=0)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.year}-{self.last}"

    @classmethod
    def take(cls, year: int) -> int:
        """Takes the next number in the caller's transaction; a rollback leaves no gap."""
        cls._default_manager.get_or_create(year=year)
        counter = cls._default_manager.select_for_update().get(year=year)
        counter.last += 1
        counter.save(update_fields=["last"])
        return int(counter.last)


class InvoiceCounter(NumberCounter):
    """Numbers of invoices."""


class DocumentCounter(NumberCounter):
    """The last number of a year. All documents share it: those with VAT are invoices to the tax
    service, which have one row of numbers.
    """
