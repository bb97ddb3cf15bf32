-- Deletes a custom code when its message is final, or when the code is entered, superseded or
-- cancelled. A test message's code stays until it expires, for the test phone. Skips rows that
-- another transaction is deleting: waiting could deadlock. `otp.sealed_codes.wipe_expired` deletes
-- the rest.

CREATE OR REPLACE FUNCTION wipe_code_of_message() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM otp_sealedcode WHERE message_id = ANY(ARRAY(
    SELECT message_id FROM otp_sealedcode WHERE message_id = NEW.id FOR UPDATE SKIP LOCKED));
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION wipe_code_of_verification() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM otp_sealedcode WHERE message_id = ANY(ARRAY(
    SELECT message_id FROM otp_sealedcode WHERE verification_id = NEW.id FOR UPDATE SKIP LOCKED));
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER wipe_code_of_message AFTER UPDATE ON channels_message FOR EACH ROW
WHEN (NEW.content::text IN ('custom_digits', 'custom_code', 'code_with_link', 'code_with_text')
  AND NEW.mode::text = 'live'
  AND NOT NEW.state::text IN ('queued', 'sent') AND OLD.state::text IN ('queued', 'sent'))
EXECUTE FUNCTION wipe_code_of_message();

CREATE OR REPLACE TRIGGER wipe_code_of_verification AFTER UPDATE ON otp_verification FOR EACH ROW
WHEN (NEW.is_custom AND (NEW.verified_at IS NOT NULL OR NEW.superseded_at IS NOT NULL))
EXECUTE FUNCTION wipe_code_of_verification();
