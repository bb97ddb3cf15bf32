import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("channels", "0005_provider_alerts")]

    operations = [
        migrations.CreateModel(
            name="Part",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveSmallIntegerField()),
                ("total", models.PositiveSmallIntegerField()),
                ("provider", models.CharField(max_length=20)),
                ("provider_id", models.CharField(max_length=200)),
                ("delivered_at", models.DateTimeField(null=True)),
                ("attempt", models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="parts", to="channels.attempt")),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("attempt", "number"), name="part_number"),
                    models.UniqueConstraint(fields=("provider", "provider_id"), name="part_provider_id"),
                ],
            },
        ),
        migrations.AlterField(
            model_name="heartbeat",
            name="kind",
            field=models.CharField(choices=[("web", "web"), ("delivery", "delivery"), ("beat", "beat"), ("smpp", "SMPP")], max_length=10),
        ),
    ]
