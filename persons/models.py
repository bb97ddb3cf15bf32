"""The list of erasures, by which what a backup brings back is erased again."""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class Erasure(models.Model):
    """One phone of which everything was erased: by a keyed hash, so that the list names nobody."""

    company_id = models.BigIntegerField(_("company"), null=True)  # null: of all companies
    mode = models.CharField(_("mode"), max_length=4, blank=True, db_default="")  # empty: both
    key_id = models.CharField(_("key"), max_length=16)  # which of WEBHOOK_KEYS the hash is under
    phone_hash = models.BinaryField(max_length=32)
    erased_at = models.DateTimeField(_("erased"), db_default=Now())  # the last time

    class Meta:
        verbose_name = _("erasure")
        verbose_name_plural = _("erasures")
        constraints = [
            models.UniqueConstraint(
                fields=["phone_hash", "company_id", "mode"],
                nulls_distinct=False,
                name="erasure_once",
            )
        ]

    def __str__(self) -> str:
        return bytes(self.phone_hash).hex()[:12]
