-- `:first_id`, `:last_id`: the months to read, from `storage/months/recent_ids.py`.

-- Derived correct codes, each with its last delivered attempt by each of these accounts. An attempt
-- that is only accepted did not bring the code: settlement chose another.
SELECT DISTINCT ON (verification.id, attempt.provider)
  verification.id AS verification_id, verification.key_id, verification.length,
  attempt.provider, attempt.provider_id
FROM otp_verification verification JOIN channels_message message
  ON message.subject_id = verification.id
JOIN channels_attempt attempt ON attempt.message_id = message.id
WHERE verification.id = ANY(%s::uuid[]) AND verification.verified_at IS NOT NULL
  AND NOT verification.is_custom
  AND attempt.provider = ANY(%s::text[]) AND attempt.provider_id IS NOT NULL
  AND attempt.state = 'delivered'
  AND verification.id BETWEEN :first_id AND :last_id AND message.id BETWEEN :first_id AND :last_id
  AND attempt.message_id BETWEEN :first_id AND :last_id
ORDER BY verification.id, attempt.provider, attempt.started_at DESC
