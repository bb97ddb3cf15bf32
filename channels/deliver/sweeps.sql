--: expired_leases
SELECT a.id AS attempt_id, a.provider, m.id AS message_id, m.phone
FROM channels_attempt a JOIN channels_message m ON m.id = a.message_id
WHERE a.lease_until < now() AND a.state = 'submitting'
  AND a.message_id BETWEEN :first_id AND :last_id AND m.id BETWEEN :first_id AND :last_id
  AND {no_lease_waits}
ORDER BY a.lease_until LIMIT %s

-- Takes rows of each company and account in turn, as in `due_in_turn.sql`. New credentials may mean
-- another account at the vendor, which never received the messages of the former one; a process may
-- use the former credentials for a moment longer.
--: due_polls
WITH ranked AS (
  SELECT a.id, a.message_id, a.poll_at,
    row_number() OVER (PARTITION BY m.company_id, a.provider ORDER BY a.poll_at) AS turn
  FROM channels_attempt a JOIN channels_message m ON m.id = a.message_id
  LEFT JOIN channels_provideraccount p ON p.name = a.provider
  WHERE a.poll_at <= now() AND a.provider_id IS NOT NULL
    AND (a.state = 'sent' OR a.state IN ('submitting', 'ambiguous')
      AND (p.credentials_changed_at + interval '30 s' < a.started_at) IS NOT FALSE)
    AND a.provider = ANY(%s) AND a.message_id BETWEEN :first_id AND :last_id
    AND m.id BETWEEN :first_id AND :last_id AND {no_poll_waits}
  ORDER BY turn, poll_at LIMIT %s),
locked AS (
  SELECT a.id, a.message_id FROM channels_attempt a JOIN ranked USING (message_id, id)
  WHERE a.poll_at <= now() AND a.message_id BETWEEN :first_id AND :last_id
  FOR UPDATE OF a SKIP LOCKED)
UPDATE channels_attempt a SET poll_at = now() + make_interval(secs => %s)
FROM locked WHERE a.id = locked.id AND a.message_id = locked.message_id
  AND a.message_id BETWEEN :first_id AND :last_id
RETURNING a.message_id, a.id AS attempt_id, a.provider, a.provider_id, a.state
