"""A message's transfers are known by its hold's number instead of a text key.

The text and its two indexes were 700 bytes of every message. During an upgrade the previous release
still writes keys: a trigger reads the number from them.
"""

from django.db import migrations, models
from django.db.models import Q, deletion

from django.contrib.postgres.operations import AddConstraintNotValid

READ_HOLD_FROM_KEY = """
CREATE FUNCTION billing_transfer_read_hold() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.hold := split_part(NEW.key, ':', 3)::smallint;
  RETURN NEW;
END $$;
CREATE TRIGGER billing_transfer_read_hold BEFORE INSERT ON billing_transfer
  FOR EACH ROW WHEN (NEW.message_id IS NOT NULL AND NEW.hold IS NULL)
  EXECUTE FUNCTION billing_transfer_read_hold();
"""
FORGET_HOLD_FROM_KEY = """
DROP TRIGGER billing_transfer_read_hold ON billing_transfer;
DROP FUNCTION billing_transfer_read_hold();
"""

# While old rows get their number, that is the one change that the trigger lets through.
ALLOW_FILLING = """
CREATE OR REPLACE FUNCTION billing_transfer_is_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND OLD.hold IS NULL
      AND to_jsonb(NEW) - 'hold' = to_jsonb(OLD) - 'hold' THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'transfers are immutable: correct one with another' USING ERRCODE = '23001';
END $$;
"""

SQUAWK_EXCEPTIONS = {
    "ban-drop-constraint": "foreign keys alone, which no statement relies on",
    "ban-drop-not-null": "0.1.0 writes a key, and reads none of a transfer that it has not written",
    "prefer-bigint-over-smallint": "holds of one message, of which there are as many as channels",
}


class Migration(migrations.Migration):
    dependencies = [("billing", "0005_external_transfers")]

    operations = [
        # It needs two tables at once: shorter than `deadlock_timeout`, so that of two that wait for
        # each other this one gives up, and tries again.
        migrations.RunSQL("SET LOCAL lock_timeout = '500ms'", migrations.RunSQL.noop),
        migrations.AddField(
            "Transfer",
            "hold",
            models.PositiveSmallIntegerField("hold number", null=True, blank=True),
        ),
        migrations.RunSQL(READ_HOLD_FROM_KEY, FORGET_HOLD_FROM_KEY),
        migrations.AlterField(
            "Transfer",
            "key",
            models.CharField("key", max_length=80, null=True, blank=True, unique=True),
        ),
        migrations.AlterField(
            "Transfer",
            "company",
            models.ForeignKey(
                on_delete=deletion.PROTECT,
                to="accounts.company",
                db_constraint=False,
                db_index=False,
                related_name='transfers',
                verbose_name='company',
            ),
        ),
        migrations.AlterField(
            "Transfer",
            "created_by",
            models.ForeignKey(
                on_delete=deletion.PROTECT,
                to="accounts.user",
                db_constraint=False,
                blank=True,
                null=True,
                db_index=False,
                related_name='+',
                verbose_name='created by',
            ),
        ),
        migrations.RunSQL(ALLOW_FILLING, migrations.RunSQL.noop),
        AddConstraintNotValid(
            "Transfer",
            models.CheckConstraint(
                condition=Q(message_id__isnull=True, hold__isnull=True, key__isnull=False)
                | Q(message_id__isnull=False, hold__isnull=False),
                name="transfer_has_hold_or_key",
            ),
        ),
    ]
