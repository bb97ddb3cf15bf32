-- Attempts whose worker died during the call: the lease is over.
--: expired_leases
SELECT attempt.id AS attempt_id, attempt.provider, message.id AS message_id, message.phone
FROM channels_attempt attempt JOIN channels_message message ON message.id = attempt.message_id
WHERE attempt.lease_until < now() AND attempt.state = 'submitting'
  AND attempt.message_id BETWEEN :first_id AND :last_id
  AND message.id BETWEEN :first_id AND :last_id
  AND {no_lease_waits}
ORDER BY attempt.lease_until LIMIT %s

-- Leases attempts to poll, of each company and account in turn, as in `due_in_turn.sql`. New
-- credentials may mean another account at the vendor, which never received the messages of the
-- former one; a process may use the former credentials for a moment longer.
--: due_polls
WITH ranked AS (
  SELECT attempt.id, attempt.message_id, attempt.poll_at,
    row_number() OVER (
      PARTITION BY message.company_id, attempt.provider ORDER BY attempt.poll_at) AS turn
  FROM channels_attempt attempt JOIN channels_message message ON message.id = attempt.message_id
  LEFT JOIN channels_provideraccount account ON account.name = attempt.provider
  WHERE attempt.poll_at <= now() AND attempt.provider_id IS NOT NULL
    AND (attempt.state = 'sent' OR attempt.state IN ('submitting', 'ambiguous')
      AND (account.credentials_changed_at + interval '30 s' < attempt.started_at) IS NOT FALSE)
    AND attempt.provider = ANY(%s) AND attempt.message_id BETWEEN :first_id AND :last_id
    AND message.id BETWEEN :first_id AND :last_id AND {no_poll_waits}
  ORDER BY turn, poll_at LIMIT %s),
locked AS (
  SELECT attempt.id, attempt.message_id
  FROM channels_attempt attempt JOIN ranked USING (message_id, id)
  WHERE attempt.poll_at <= now() AND attempt.message_id BETWEEN :first_id AND :last_id
  FOR UPDATE OF attempt SKIP LOCKED)
UPDATE channels_attempt attempt SET poll_at = now() + make_interval(secs => %s)
FROM locked WHERE attempt.id = locked.id AND attempt.message_id = locked.message_id
  AND attempt.message_id BETWEEN :first_id AND :last_id
RETURNING attempt.message_id, attempt.id AS attempt_id, attempt.provider, attempt.provider_id,
  attempt.state
