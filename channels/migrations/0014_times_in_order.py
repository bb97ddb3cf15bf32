from django.db import migrations

# Times that vendors' clocks put before the request; from now on they are stored in order.
IN_ORDER = """
UPDATE channels_message SET delivered_at = GREATEST(created_at, delivered_at),
  read_at = CASE WHEN read_at IS NOT NULL THEN GREATEST(created_at, delivered_at, read_at) END
WHERE delivered_at < created_at OR read_at < created_at
"""


class Migration(migrations.Migration):

    dependencies = [
        ("channels", "0013_field_labels"),
    ]

    operations = [migrations.RunSQL(IN_ORDER, migrations.RunSQL.noop)]
