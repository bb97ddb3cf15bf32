"""The tokens that an API key may spend in a day."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0010_api_requests")]

    operations = [
        migrations.AddField(
            "apikey",
            "day_limit",
            models.PositiveBigIntegerField(blank=True, null=True, verbose_name="tokens per day"),
        ),
    ]
