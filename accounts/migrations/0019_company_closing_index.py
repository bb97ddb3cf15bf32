from django.db import migrations, models

from config.storage.concurrent_indexes import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("accounts", "0018_muted_notices")]

    operations = [
        AddIndexConcurrently(
            "Company",
            models.Index(
                fields=["closes_at"],
                name="company_closing",
                condition=models.Q(closes_at__isnull=False, erased_at__isnull=True),
            ),
        ),
    ]
