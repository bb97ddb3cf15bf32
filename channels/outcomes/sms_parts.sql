-- Stores a part that a vendor named, unless it is known or the attempt is another vendor's.
--: store
INSERT INTO channels_part (attempt_id, number, total, provider, provider_id)
SELECT attempt.id, %s, %s, attempt.provider, %s FROM channels_attempt attempt
WHERE attempt.id = %s AND attempt.provider = %s
  AND attempt.message_id BETWEEN :first_id AND :last_id
ON CONFLICT DO NOTHING

-- Marks parts as delivered, under the messages' locks, so that of two parts reported concurrently
-- the second sees the first.
--: mark_delivered
UPDATE channels_part SET delivered_at = COALESCE(delivered_at, now()) WHERE id = ANY(%s)

-- The given attempts whose parts are all delivered.
--: complete_attempts
SELECT attempt_id FROM channels_part WHERE attempt_id = ANY(%s)
GROUP BY attempt_id HAVING count(delivered_at) = max(total)
