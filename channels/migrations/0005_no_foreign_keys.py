"""Rows of partitioned tables are not looked up when a month of what they refer to is dropped.

The checks also cost every send a lock on its company's row.
"""

from django.db import migrations, models
from django.db.models import deletion

SQUAWK_EXCEPTIONS = {"ban-drop-constraint": "foreign keys alone, which no statement relies on"}


class Migration(migrations.Migration):
    dependencies = [("channels", "0004_drop_duplicate_indexes")]

    operations = [
        # It needs two tables at once: shorter than `deadlock_timeout`, so that of two that wait for
        # each other this one gives up, and tries again.
        migrations.RunSQL("SET LOCAL lock_timeout = '500ms'", migrations.RunSQL.noop),
        migrations.AlterField(
            "Message",
            "company",
            models.ForeignKey(
                on_delete=deletion.PROTECT,
                to="accounts.company",
                db_constraint=False,
                db_index=False,
                related_name='messages',
                verbose_name='company',
            ),
        ),
        migrations.AlterField(
            "Attempt",
            "message",
            models.ForeignKey(
                on_delete=deletion.CASCADE,
                to="channels.message",
                db_constraint=False,
                db_index=False,
                related_name='attempts',
                verbose_name='message',
            ),
        ),
        migrations.AlterField(
            "FallbackEvent",
            "message",
            models.ForeignKey(
                on_delete=deletion.CASCADE,
                to="channels.message",
                db_constraint=False,
                related_name='fallback_events',
            ),
        ),
        migrations.AlterField(
            "Receipt",
            "attempt",
            models.ForeignKey(
                on_delete=deletion.CASCADE,
                to="channels.attempt",
                db_constraint=False,
                null=True,
                related_name='receipts',
                verbose_name='attempt',
            ),
        ),
        migrations.AlterField(
            "Part",
            "attempt",
            models.ForeignKey(
                on_delete=deletion.CASCADE,
                to="channels.attempt",
                db_constraint=False,
                db_index=False,
                related_name='parts',
            ),
        ),
    ]
