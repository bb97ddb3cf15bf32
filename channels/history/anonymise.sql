-- Keeps the prefix for statistics, which identifies nobody. `sender` has hashes of address and
-- device; `callback`, `metadata` and the texts that `channels.stored_fields` names may identify the
-- person, and no later erasure would find them. WhatsApp's message ids contain the phone.
WITH changed AS (
  UPDATE channels_message SET phone = left(phone, 5) || '*', {emptied},
    params = params - '{sender,callback,metadata}'::text[]
  WHERE id IN ({due}) RETURNING id),
attempts AS (
  UPDATE channels_attempt SET provider_id = NULL, error_detail = ''
  WHERE message_id IN (SELECT id FROM changed) AND (provider_id <> '' OR error_detail <> ''))
SELECT FROM changed
