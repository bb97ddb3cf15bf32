"""Companies that are there already begin with budgets that fit what they spent of late."""

from typing import Any

from django.db import migrations

from otp import spending


def learn(apps: Any, schema_editor: Any) -> None:
    if apps.get_model("channels", "Message").objects.exists():
        spending.refresh()


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0014_company_budgets"),
        ("billing", "0007_budgets"),
        ("channels", "0014_times_in_order"),
        ("otp", "0005_field_labels"),
    ]

    operations = [
        migrations.RunPython(learn, migrations.RunPython.noop),
    ]
