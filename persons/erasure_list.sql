-- Records an erasure; a later one moves its time forward.
--: add
INSERT INTO persons_erasure (company_id, mode, key_id, phone_hash, erased_at)
VALUES (%(company_id)s, %(mode)s, %(key_id)s, %(phone_hash)s, COALESCE(%(erased_at)s, now()))
ON CONFLICT (phone_hash, company_id, mode)
DO UPDATE SET erased_at = GREATEST(persons_erasure.erased_at, excluded.erased_at)

-- Every phone with its own column.
--: phones
SELECT DISTINCT phone FROM channels_message WHERE phone NOT LIKE '%*'
UNION SELECT phone FROM channels_contact
UNION SELECT phone FROM channels_receipt WHERE phone LIKE '+%'
