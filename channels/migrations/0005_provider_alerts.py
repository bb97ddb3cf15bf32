from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("channels", "0004_fallback")]

    operations = [
        migrations.CreateModel(
            name="ProviderAlert",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("provider", models.CharField(max_length=20, verbose_name="provider")),
                ("code", models.CharField(max_length=60, verbose_name="provider's code")),
                ("detail", models.CharField(blank=True, max_length=300, verbose_name="the provider's words")),
                ("kind", models.CharField(max_length=9)),
                ("first_at", models.DateTimeField(db_default=Now(), verbose_name="first said")),
                ("at", models.DateTimeField(db_default=Now(), verbose_name="last said")),
                ("times", models.PositiveIntegerField(db_default=1, default=1, verbose_name="times")),
            ],
            options={"verbose_name": "provider's alert", "verbose_name_plural": "providers' alerts"},
        ),
        migrations.AddConstraint(
            model_name="provideralert",
            constraint=models.UniqueConstraint(
                fields=("provider", "code", "detail"), name="provider_alert_once"
            ),
        ),
    ]
