from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("channels", "0002_day_counts")]

    operations = [
        migrations.CreateModel(
            name="Heartbeat",
            fields=[
                ("process", models.CharField(max_length=120, primary_key=True, serialize=False)),
                ("kind", models.CharField(choices=[("web", "web"), ("delivery", "delivery"), ("beat", "beat")], max_length=10)),
                ("at", models.DateTimeField()),
                ("facts", models.JSONField(default=dict)),
            ],
            options={"verbose_name": "heartbeat", "verbose_name_plural": "heartbeats"},
        ),
        migrations.AddIndex(
            model_name="attempt",
            index=models.Index(fields=["started_at"], name="attempt_started"),
        ),
    ]
