"""Which companies changed what their keys carry, noted by triggers: any writer may make the change."""

from django.db import migrations, models

# With the rights of the tables' owner: whoever may change a company, an operator in psql as well as a
# process of 0.1.0, need not know of the notes. No writer waits for another: a note is a row of its
# own transaction's, and of older ones it removes those that nobody else is removing.
FUNCTION = """
CREATE FUNCTION note_company_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  companies bigint[];
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    companies := '{0}';  -- every company
  ELSIF TG_TABLE_NAME = 'accounts_company' THEN
    companies := ARRAY[NEW.id];
  ELSE
    companies := ARRAY[OLD.company_id, NEW.company_id];
  END IF;
  INSERT INTO public.accounts_companychange (transaction_id, company_id)
  SELECT DISTINCT pg_current_xact_id()::text::bigint, company_id
  FROM unnest(companies) AS company_id WHERE company_id IS NOT NULL
  ON CONFLICT DO NOTHING;
  IF FOUND THEN
    DELETE FROM public.accounts_companychange
    WHERE (transaction_id, company_id) IN (
      SELECT transaction_id, company_id FROM public.accounts_companychange
      WHERE company_id = ANY(companies) AND transaction_id <> pg_current_xact_id()::text::bigint
      FOR UPDATE SKIP LOCKED);
  END IF;
  RETURN NULL;
END $$;
"""

# A new company has no keys, and no process has a new key yet. Each call may write `last_used_at`.
TRIGGERS = """
CREATE TRIGGER company_change AFTER UPDATE ON accounts_company FOR EACH ROW
WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION note_company_change();

CREATE TRIGGER key_change AFTER UPDATE ON accounts_apikey FOR EACH ROW
WHEN (to_jsonb(OLD) - 'last_used_at' IS DISTINCT FROM to_jsonb(NEW) - 'last_used_at')
EXECUTE FUNCTION note_company_change();

CREATE TRIGGER key_deletion AFTER DELETE ON accounts_apikey FOR EACH ROW
EXECUTE FUNCTION note_company_change();

CREATE TRIGGER key_truncation AFTER TRUNCATE ON accounts_apikey FOR EACH STATEMENT
EXECUTE FUNCTION note_company_change();
"""

REMOVE = """
DROP TRIGGER company_change ON accounts_company;
DROP TRIGGER key_change ON accounts_apikey;
DROP TRIGGER key_deletion ON accounts_apikey;
DROP TRIGGER key_truncation ON accounts_apikey;
DROP FUNCTION note_company_change();
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0008_roles_from_provider")]

    operations = [
        # It needs two tables at once: shorter than `deadlock_timeout`, so that of two that wait for
        # each other this one gives up, and tries again.
        migrations.RunSQL("SET LOCAL lock_timeout = '500ms'", migrations.RunSQL.noop),
        migrations.CreateModel(
            "CompanyChange",
            [
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "transaction_id",
                        "company_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("transaction_id", models.BigIntegerField()),
                ("company_id", models.BigIntegerField()),
            ],
            {
                "verbose_name": "company change",
                "verbose_name_plural": "company changes",
                "indexes": [models.Index(fields=["company_id"], name="company_change_of_company")],
            },
        ),
        migrations.RunSQL(FUNCTION + TRIGGERS, REMOVE),
    ]
