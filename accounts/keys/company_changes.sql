-- Records companies whose keys got other settings or rights, by any writer, even an operator in
-- psql. The function runs with the rights of the tables' owner, so that writers need none. Writers
-- never wait: each transaction inserts its own rows, and deletes only older rows that no other
-- transaction is deleting.
CREATE OR REPLACE FUNCTION record_company_change() RETURNS trigger
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

-- Inserts need no trigger: a new company has no keys, and no process has cached a new key. Changes
-- of `last_used_at`, which calls write, do not count.
CREATE OR REPLACE TRIGGER company_change AFTER UPDATE ON accounts_company FOR EACH ROW
WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION record_company_change();

CREATE OR REPLACE TRIGGER key_change AFTER UPDATE ON accounts_apikey FOR EACH ROW
WHEN (to_jsonb(OLD) - 'last_used_at' IS DISTINCT FROM to_jsonb(NEW) - 'last_used_at')
EXECUTE FUNCTION record_company_change();

CREATE OR REPLACE TRIGGER key_deletion AFTER DELETE ON accounts_apikey FOR EACH ROW
EXECUTE FUNCTION record_company_change();

CREATE OR REPLACE TRIGGER key_truncation AFTER TRUNCATE ON accounts_apikey FOR EACH STATEMENT
EXECUTE FUNCTION record_company_change();

-- A key's rights depend on its creator's role.
CREATE OR REPLACE TRIGGER member_change AFTER INSERT OR DELETE ON accounts_member FOR EACH ROW
EXECUTE FUNCTION record_company_change();

CREATE OR REPLACE TRIGGER member_role_change AFTER UPDATE ON accounts_member FOR EACH ROW
WHEN (OLD.role IS DISTINCT FROM NEW.role) EXECUTE FUNCTION record_company_change();
