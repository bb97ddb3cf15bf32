"""A descending index of what is inserted in time's order splits its pages in halves that stay half empty."""

from django.db import migrations, models

from config.storage.concurrent_indexes import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("billing", "0009_transfers_by_month")]

    operations = [
        AddIndexConcurrently("Transfer", models.Index(fields=["company", "created_at", "id"], name="transfer_of_company")),
    ]
