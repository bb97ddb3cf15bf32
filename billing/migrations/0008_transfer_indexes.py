"""A hold is opened once and settled once, and a key is used once."""

from django.db import migrations, models
from django.db.models import ExpressionWrapper, Q

from config.storage.concurrent_indexes import RemoveIndexConcurrently


def build(name: str, definition: str) -> migrations.RunSQL:
    """What a try that was interrupted has left behind is built anew."""
    drop = f"DROP INDEX CONCURRENTLY IF EXISTS {name}"
    create = f"CREATE UNIQUE INDEX CONCURRENTLY {name} ON billing_transfer {definition}"
    return migrations.RunSQL([drop, create], drop)

SQUAWK_EXCEPTIONS = {
    "ban-drop-constraint": "the indexes above took its place",
    "prefer-robust-stmts": "an index is dropped before it is built; AlterField drops what is there",
    "require-concurrent-index-deletion": "the index belongs to the constraint",
}


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("billing", "0007_fill_hold_numbers")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                build("transfer_hold_once", "(message_id, hold, (kind = 'hold'))"),
                build("transfer_key_once", "(key) WHERE message_id IS NULL"),
            ],
            state_operations=[
                migrations.AddConstraint(
                    "Transfer",
                    models.UniqueConstraint(
                        "message_id",
                        "hold",
                        ExpressionWrapper(Q(kind="hold"), models.BooleanField()),
                        name="transfer_hold_once",
                    ),
                ),
                migrations.AddConstraint(
                    "Transfer",
                    models.UniqueConstraint(
                        fields=["key"],
                        condition=Q(message_id__isnull=True),
                        name="transfer_key_once",
                    ),
                ),
            ],
        ),
        RemoveIndexConcurrently("Transfer", "transfer_message"),
        # Not before, or nothing would keep a hold from being settled twice in the meantime.
        migrations.AlterField(
            "Transfer",
            "key",
            models.CharField("key", max_length=80, null=True, blank=True),
        ),
    ]
