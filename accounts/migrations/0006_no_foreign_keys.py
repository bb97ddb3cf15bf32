"""Rows of partitioned tables are not looked up when a month of what they refer to is dropped.

The checks also cost every send a lock on its company's row.
"""

from django.db import migrations, models
from django.db.models import deletion

SQUAWK_EXCEPTIONS = {"ban-drop-constraint": "foreign keys alone, which no statement relies on"}


class Migration(migrations.Migration):
    dependencies = [("accounts", "0005_month_partitions")]

    operations = [
        # It needs two tables at once: shorter than `deadlock_timeout`, so that of two that wait for
        # each other this one gives up, and tries again.
        migrations.RunSQL("SET LOCAL lock_timeout = '500ms'", migrations.RunSQL.noop),
        migrations.AlterField(
            "Delivery",
            "event",
            models.ForeignKey(
                on_delete=deletion.CASCADE,
                to="accounts.event",
                db_constraint=False,
                db_index=False,
                related_name='deliveries',
            ),
        ),
        migrations.AlterField(
            "Event",
            "company",
            models.ForeignKey(
                on_delete=deletion.CASCADE,
                to="accounts.company",
                db_constraint=False,
                db_index=False,
                related_name='events',
            ),
        ),
    ]
