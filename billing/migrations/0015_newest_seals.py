"""The order of the admin's list: without it a page read and sorted all seals of its days."""

from django.db import migrations, models

from config.storage.concurrent_indexes import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("billing", "0014_reconciliation_run")]

    operations = [
        AddIndexConcurrently("Seal", models.Index(fields=["day", "id"], name="seal_newest")),
    ]
