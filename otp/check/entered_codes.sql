-- `:first_id`, `:last_id`: the months to read, from `storage/months/recent_ids.py`.

-- Derived correct codes, each with its last delivered attempt by each of these accounts. An attempt
-- that is only accepted did not bring the code: settlement chose another.
SELECT DISTINCT ON (v.id, a.provider)
  v.id AS verification_id, v.key_id, v.length, a.provider, a.provider_id
FROM otp_verification v JOIN channels_message m ON m.subject_id = v.id
JOIN channels_attempt a ON a.message_id = m.id
WHERE v.id = ANY(%s::uuid[]) AND v.verified_at IS NOT NULL AND NOT v.is_custom
  AND a.provider = ANY(%s::text[]) AND a.provider_id IS NOT NULL AND a.state = 'delivered'
  AND v.id BETWEEN :first_id AND :last_id AND m.id BETWEEN :first_id AND :last_id
  AND a.message_id BETWEEN :first_id AND :last_id
ORDER BY v.id, a.provider, a.started_at DESC
