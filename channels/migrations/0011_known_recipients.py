from django.db import migrations, models
from django.db.models.functions import Now


class Migration(migrations.Migration):
    dependencies = [("channels", "0010_blocked_phones_e164")]

    operations = [
        migrations.CreateModel(
            name="KnownRecipient",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("vendor", models.CharField(max_length=20)),
                ("user_id", models.CharField(max_length=150)),
                ("attempt_id", models.UUIDField()),
                ("seen_at", models.DateTimeField(db_default=Now())),
            ],
        ),
        migrations.AddConstraint(
            model_name="knownrecipient",
            constraint=models.UniqueConstraint(
                fields=("vendor", "user_id"), name="known_recipient_once"
            ),
        ),
    ]
