-- Writes decided states of attempts, under their messages' locks; NULL values change nothing.
UPDATE channels_attempt a SET
  state = n.state, provider_id = COALESCE(a.provider_id, n.provider_id),
  error_class = COALESCE(n.error_class, a.error_class),
  error_code = COALESCE(n.error_code, a.error_code),
  error_detail = COALESCE(n.error_detail, a.error_detail),
  lease_until = NULL, polls = n.polls,
  accepted_at = CASE WHEN n.state IN ('sent', 'delivered')
                     THEN COALESCE(a.accepted_at, now()) ELSE a.accepted_at END,
  finished_at = CASE WHEN n.state IN ('delivered', 'failed', 'expired')
                     THEN COALESCE(a.finished_at, now()) END,
  poll_at = CASE WHEN n.state IN ('delivered', 'failed', 'expired') THEN NULL
                 WHEN n.state = 'sent' AND n.poll_in IS NULL THEN a.poll_at
                 ELSE now() + make_interval(secs => n.poll_in) END
FROM (
  SELECT * FROM json_to_recordset(%(attempts)s::json) AS n(
    id uuid, state text, provider_id text, error_class text, error_code text, error_detail text,
    polls int, poll_in float)
  LIMIT json_array_length(%(attempts)s::json)) AS n
WHERE a.id = n.id AND a.message_id BETWEEN :first_id AND :last_id
