from django.db import migrations, models

from config.storage.concurrent_indexes import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("billing", "0004_running_balance")]

    operations = [
        AddIndexConcurrently(
            "Transfer",
            models.Index(
                models.F("company"),
                models.OrderBy(models.F("created_at"), descending=True),
                models.OrderBy(models.F("id"), descending=True),
                condition=models.Q(("kind__in", ["top_up", "grant", "withdraw"])),
                name="transfer_external",
            ),
        ),
    ]
