-- Codes that ended before they expired: superseded, or out of attempts. Their links may still live.
--: ended_early
verified_at IS NULL AND settled_at IS NULL AND expires_at > now()
AND (superseded_at IS NOT NULL OR attempts >= max_attempts)
AND id BETWEEN :first_id AND :last_id

-- Settles codes that ended early, the oldest first; returns their ids.
--: settle_ended_early
UPDATE otp_verification SET settled_at = now()
WHERE id BETWEEN :first_id AND :last_id AND id = ANY(ARRAY(
  SELECT id FROM otp_verification WHERE {ended_early}
  ORDER BY expires_at LIMIT %s FOR NO KEY UPDATE SKIP LOCKED))
RETURNING id

-- Whether a code waits for its settlement: a separate query, since workers mostly find none.
--: has_unsettled
SELECT
  EXISTS (SELECT FROM otp_verification WHERE verified_at IS NOT NULL AND settled_at IS NULL
            AND id BETWEEN :first_id AND :last_id),
  EXISTS (SELECT FROM otp_verification WHERE {ended_early}),
  EXISTS (SELECT FROM otp_sealedcode WHERE expires_at <= now())

-- Correct codes whose delivery is not settled yet.
--: all_unsettled
SELECT id, EXISTS (SELECT FROM accounts_jobfailure failure
  WHERE failure.job = 'settlement' AND failure.subject = otp_verification.id::text) AS has_failed
FROM otp_verification WHERE verified_at IS NOT NULL AND settled_at IS NULL
  AND id BETWEEN :first_id AND :last_id

-- Those of them that may be tried now, the oldest first.
--: unsettled
{all_unsettled} AND {is_not_waiting} ORDER BY verified_at LIMIT %s

-- Claims the oldest codes for this transaction.
--: claim_verified
{unsettled} FOR NO KEY UPDATE SKIP LOCKED

-- The same for given ids, including those that wait for another try.
--: claim_given
{all_unsettled} AND id = ANY(%s::uuid[]) ORDER BY verified_at FOR NO KEY UPDATE SKIP LOCKED

-- The event `otp.verified`, written in the round trip that settles.
--: verified_event
SELECT event_id AS id, company_id, mode, 'otp.verified' AS kind,
  {public_id} AS key, jsonb_build_object(
    'id', {public_id}, 'phone', phone, 'purpose', purpose,
    'door', newest.door, 'reference', NULLIF(newest.reference, ''), 'metadata', newest.metadata,
    'test', mode = 'test', 'verified_at', {iso_verified_at}) AS data,
  verified_at AS at,
  (SELECT message.params->'callback' FROM channels_message message
   WHERE message.subject_id = settled.id AND message.id BETWEEN :first_id AND :last_id
     AND message.params ? 'callback'
   ORDER BY message.id DESC LIMIT 1) AS callback
FROM settled LEFT JOIN LATERAL (
  SELECT message.reference, message.params->'metadata' AS metadata, message.params->'door' AS door
  FROM channels_message message
  WHERE message.subject_id = settled.id AND message.id BETWEEN :first_id AND :last_id
  ORDER BY message.id DESC LIMIT 1) AS newest ON true

-- The events are appended by a statement of `webhooks.events`.
--: settle_verified
WITH settled AS (
  UPDATE otp_verification verification SET settled_at = now()
  FROM unnest(%s::uuid[], %s::uuid[]) AS given(id, event_id)
  WHERE verification.id = given.id AND verification.id BETWEEN :first_id AND :last_id
  RETURNING verification.id, company_id, mode, phone, purpose, verified_at, given.event_id)
