"""Wallets count what each API key has spent in a day."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0011_key_day_limit"),
        ("billing", "0018_documents"),
    ]

    operations = [
        migrations.AddField("wallet", "key_day", models.DateField(editable=False, null=True)),
        migrations.AddField(
            "wallet",
            "key_tokens",
            models.JSONField(db_default={}, default=dict, editable=False),
        ),
    ]
