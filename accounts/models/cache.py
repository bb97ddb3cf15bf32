"""The table behind Django's default cache: config/storage/cache.py reads and writes it."""

from django.db import models


class CacheEntry(models.Model):
    key = models.CharField(max_length=260, primary_key=True)
    value = models.JSONField()
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        verbose_name = "cache entry"
        verbose_name_plural = "cache entries"

    def __str__(self) -> str:
        return self.key
