import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_patience_by_channel"), ("billing", "0003_drop_duplicate_indexes")]

    operations = [
        migrations.CreateModel(
            name="RunningBalance",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("created_at", models.DateTimeField()),
                ("transfer_id", models.BigIntegerField()),
                ("balance", models.BigIntegerField()),
                (
                    "company",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="accounts.company"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("company", "created_at", "transfer_id"), name="running_balance_once"
                    )
                ],
            },
        ),
    ]
