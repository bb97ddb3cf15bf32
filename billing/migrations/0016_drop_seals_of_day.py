"""Sealing reads a day's seals by the other index and sorts them: no page is served by this one."""

from django.db import migrations

from config.storage.concurrent_indexes import RemoveIndexConcurrently


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("billing", "0015_newest_seals")]

    operations = [RemoveIndexConcurrently("Seal", "seal_of_day")]
