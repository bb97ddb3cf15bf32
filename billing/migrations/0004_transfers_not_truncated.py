"""The transfers' guard against UPDATE and DELETE did not cover TRUNCATE."""

from django.db import migrations

FORBID = """
CREATE OR REPLACE FUNCTION billing_transfer_is_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'transfers are immutable: correct one with another' USING ERRCODE = '23001';
END $$;
CREATE TRIGGER billing_transfer_no_truncate BEFORE TRUNCATE ON billing_transfer
  FOR EACH STATEMENT EXECUTE FUNCTION billing_transfer_is_immutable();
"""
ALLOW = "DROP TRIGGER billing_transfer_no_truncate ON billing_transfer;"


class Migration(migrations.Migration):
    dependencies = [("billing", "0003_top_ups")]
    operations = [migrations.RunSQL(FORBID, ALLOW)]
