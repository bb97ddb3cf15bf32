from django.db import migrations

# The table is read as a whole, which takes longer than a statement of the service may.
UNBOUNDED = "SET LOCAL statement_timeout = 0"

# Times that vendors' clocks put before the request or the hand-over; from now on they are stored
# in order. GREATEST ignores NULL, so a time that is unknown has to be kept so by hand.
IN_ORDER = """
UPDATE channels_message SET
  delivered_at = CASE WHEN delivered_at IS NOT NULL
    THEN GREATEST(created_at, sent_at, delivered_at) END,
  read_at = CASE WHEN read_at IS NOT NULL
    THEN GREATEST(created_at, sent_at, delivered_at, read_at) END
WHERE delivered_at < GREATEST(created_at, sent_at)
   OR read_at < GREATEST(created_at, sent_at, delivered_at)
"""


class Migration(migrations.Migration):

    dependencies = [
        ("channels", "0013_field_labels"),
    ]

    operations = [migrations.RunSQL([UNBOUNDED, IN_ORDER], migrations.RunSQL.noop)]
