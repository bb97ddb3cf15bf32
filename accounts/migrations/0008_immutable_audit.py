"""Audit events are only ever added: the database itself refuses to change, drop or empty them.

The references lose their constraints, since ON DELETE SET NULL and CASCADE would be such changes.
"""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

FORBID = """
CREATE FUNCTION accounts_auditevent_is_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'audit events are immutable' USING ERRCODE = '23001';
END $$;
CREATE TRIGGER accounts_auditevent_immutable BEFORE UPDATE OR DELETE ON accounts_auditevent
  FOR EACH ROW EXECUTE FUNCTION accounts_auditevent_is_immutable();
CREATE TRIGGER accounts_auditevent_no_truncate BEFORE TRUNCATE ON accounts_auditevent
  FOR EACH STATEMENT EXECUTE FUNCTION accounts_auditevent_is_immutable();
"""
ALLOW = """
DROP TRIGGER accounts_auditevent_immutable ON accounts_auditevent;
DROP TRIGGER accounts_auditevent_no_truncate ON accounts_auditevent;
DROP FUNCTION accounts_auditevent_is_immutable();
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0007_link_rules")]
    operations = [
        migrations.AddField(
            model_name="auditevent",
            name="actor",
            field=models.CharField(
                db_default="", default="", max_length=254, verbose_name="e-mail at that time"
            ),
        ),
        migrations.AlterField(
            model_name="auditevent",
            name="company",
            field=models.ForeignKey(
                db_constraint=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="audit",
                to="accounts.company",
            ),
        ),
        migrations.AlterField(
            model_name="auditevent",
            name="user",
            field=models.ForeignKey(
                db_constraint=False,
                null=True,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.RunSQL(FORBID, ALLOW),
    ]
