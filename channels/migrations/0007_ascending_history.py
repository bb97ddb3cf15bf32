"""A descending index of what is inserted in time's order splits its pages in halves that stay half empty."""

from django.db import migrations, models

from config.storage.concurrent_indexes import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("channels", "0006_messages_by_month")]

    operations = [
        AddIndexConcurrently("Message", models.Index(fields=["company", "mode", "created_at", "id"], name="message_of_company")),
    ]
