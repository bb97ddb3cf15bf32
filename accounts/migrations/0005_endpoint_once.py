from django.db import migrations, models

# Of endpoints that say the same, the one that is on and oldest stays.
KEEP_ONE = """
UPDATE accounts_endpoint SET deleted_at = now() WHERE id IN (
  SELECT id FROM (
    SELECT id, row_number() OVER (
      PARTITION BY company_id, mode, url
      ORDER BY disabled_at IS NOT NULL, created_at, id) AS place
    FROM accounts_endpoint WHERE deleted_at IS NULL) same
  WHERE place > 1)
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0004_company_limits")]

    operations = [
        migrations.RunSQL(KEEP_ONE, migrations.RunSQL.noop),
        migrations.AddConstraint(
            model_name="endpoint",
            constraint=models.UniqueConstraint(
                fields=("company", "mode", "url"),
                condition=models.Q(deleted_at__isnull=True),
                name="endpoint_once",
            ),
        ),
    ]
