-- No transfer is changed or deleted: another one corrects it.
CREATE OR REPLACE FUNCTION billing_transfer_is_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'transfers are immutable: correct one with another' USING ERRCODE = '23001';
END $$;
CREATE OR REPLACE TRIGGER billing_transfer_immutable BEFORE UPDATE OR DELETE ON billing_transfer
  FOR EACH ROW EXECUTE FUNCTION billing_transfer_is_immutable();
CREATE OR REPLACE TRIGGER billing_transfer_no_truncate BEFORE TRUNCATE ON billing_transfer
  FOR EACH STATEMENT EXECUTE FUNCTION billing_transfer_is_immutable();
