-- Companies keep copies of seals, so a seal never changes.
CREATE OR REPLACE FUNCTION billing_seal_is_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'seals are immutable' USING ERRCODE = '23001';
END $$;
CREATE OR REPLACE TRIGGER billing_seal_immutable BEFORE UPDATE OR DELETE ON billing_seal
  FOR EACH ROW EXECUTE FUNCTION billing_seal_is_immutable();
CREATE OR REPLACE TRIGGER billing_seal_no_truncate BEFORE TRUNCATE ON billing_seal
  FOR EACH STATEMENT EXECUTE FUNCTION billing_seal_is_immutable();
CREATE OR REPLACE TRIGGER billing_sealedday_immutable BEFORE UPDATE OR DELETE ON billing_sealedday
  FOR EACH ROW EXECUTE FUNCTION billing_seal_is_immutable();
CREATE OR REPLACE TRIGGER billing_sealedday_no_truncate BEFORE TRUNCATE ON billing_sealedday
  FOR EACH STATEMENT EXECUTE FUNCTION billing_seal_is_immutable();
