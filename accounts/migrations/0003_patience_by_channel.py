"""A company's patience with each channel, from a column per channel into one mapping."""

from django.db import migrations, models

COLLECT = """
UPDATE accounts_company SET patience = jsonb_strip_nulls(jsonb_build_object(
  'whatsapp', patience_whatsapp, 'telegram', patience_telegram, 'sms', patience_sms))
WHERE COALESCE(patience_whatsapp, patience_telegram, patience_sms) IS NOT NULL
"""
SPREAD = """
UPDATE accounts_company SET patience_whatsapp = (patience->>'whatsapp')::int,
  patience_telegram = (patience->>'telegram')::int, patience_sms = (patience->>'sms')::int
WHERE patience <> '{}'
"""


def column(channel: str) -> migrations.RemoveField:
    return migrations.RemoveField(model_name="company", name=f"patience_{channel}")


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_declared_channels")]

    operations = [
        migrations.AddField(
            model_name="company",
            name="patience",
            field=models.JSONField(db_default={}, default=dict, editable=False),
        ),
        migrations.RunSQL(COLLECT, SPREAD),
        column("whatsapp"),
        column("telegram"),
        column("sms"),
    ]
