"""Transfers are only ever added: the database itself refuses to change or drop one."""

from django.db import migrations

FORBID = """
CREATE FUNCTION billing_transfer_is_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'transfers are immutable: correct one with another' USING ERRCODE = '23001';
END $$;
CREATE TRIGGER billing_transfer_immutable BEFORE UPDATE OR DELETE ON billing_transfer
  FOR EACH ROW EXECUTE FUNCTION billing_transfer_is_immutable();
"""
ALLOW = """
DROP TRIGGER billing_transfer_immutable ON billing_transfer;
DROP FUNCTION billing_transfer_is_immutable();
"""


class Migration(migrations.Migration):
    dependencies = [("billing", "0001_initial")]
    operations = [migrations.RunSQL(FORBID, ALLOW)]
