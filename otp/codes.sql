-- Custom codes, which `sealed_codes.sql` deletes with their message or verification.
--: sealed_codes
SELECT message_id, key_id, sealed FROM otp_sealedcode WHERE message_id = ANY(%s)

-- A part of `send/send.sql`.
--: insert_sealed_code
INSERT INTO otp_sealedcode (message_id, verification_id, key_id, sealed, expires_at)
SELECT message_id, subject_id, %(sealed_key_id)s::text, %(sealed)s::bytea, useful_until
FROM paid

-- Deletes custom codes that are no longer needed to send.
--: wipe_expired_codes
DELETE FROM otp_sealedcode WHERE expires_at <= now()

-- Anonymises old phones, also within purposes and bindings, where no later erasure would find them.
-- Supersedes their codes: two shortened phones could collide on the unique index of live rows.
--: anonymise_phones
UPDATE otp_verification
SET superseded_at = COALESCE(superseded_at, now()),
  settled_at = CASE WHEN verified_at IS NULL THEN now() ELSE settled_at END,
  phone = left(phone, 5) || '*', purpose = {purpose_without_phone},
  binding = ({binding_without_phone})::jsonb
WHERE id IN (SELECT id FROM otp_verification
             WHERE created_at < now() - make_interval(days => %s) AND phone NOT LIKE '%%*'
             ORDER BY created_at LIMIT %s)
