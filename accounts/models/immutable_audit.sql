-- Audit events are never changed or deleted.
CREATE OR REPLACE FUNCTION accounts_auditevent_is_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'audit events are immutable' USING ERRCODE = '23001';
END $$;
CREATE OR REPLACE TRIGGER accounts_auditevent_immutable
  BEFORE UPDATE OR DELETE ON accounts_auditevent
  FOR EACH ROW EXECUTE FUNCTION accounts_auditevent_is_immutable();
CREATE OR REPLACE TRIGGER accounts_auditevent_no_truncate BEFORE TRUNCATE ON accounts_auditevent
  FOR EACH STATEMENT EXECUTE FUNCTION accounts_auditevent_is_immutable();
