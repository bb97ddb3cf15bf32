"""Lets the application have a month analyzed that it does not own; see `config.storage.months.statistics`."""

from django.db import migrations

# With the rights of the owner of the tables, like `create_month_partition`, and of its tables alone.
ANALYZE_MONTH = """
CREATE FUNCTION analyze_month_partition(month regclass) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_class WHERE oid = month AND relispartition
                 AND relowner = current_user::regrole) THEN
    RAISE EXCEPTION '% is no month of this owner', month USING ERRCODE = '42501';
  END IF;
  IF pg_try_advisory_xact_lock(hashtextextended('analyze_month_partition', 0)) THEN
    EXECUTE format('ANALYZE %s', month);  -- else another worker is at it
  END IF;
END $$;
REVOKE ALL ON FUNCTION analyze_month_partition(regclass) FROM PUBLIC;
"""


class Migration(migrations.Migration):
    dependencies = [("channels", "0011_table_parameters")]

    operations = [
        migrations.RunSQL(ANALYZE_MONTH, "DROP FUNCTION analyze_month_partition(regclass)")
    ]
