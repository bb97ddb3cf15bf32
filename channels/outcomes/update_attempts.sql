-- Writes decided states of attempts, under their messages' locks; NULL values change nothing.
UPDATE channels_attempt attempt SET
  state = given.state, provider_id = COALESCE(attempt.provider_id, given.provider_id),
  error_class = COALESCE(given.error_class, attempt.error_class),
  error_code = COALESCE(given.error_code, attempt.error_code),
  error_detail = COALESCE(given.error_detail, attempt.error_detail),
  lease_until = NULL, polls = given.polls,
  accepted_at = CASE WHEN given.state IN ('sent', 'delivered')
                     THEN COALESCE(attempt.accepted_at, now()) ELSE attempt.accepted_at END,
  finished_at = CASE WHEN given.state IN ('delivered', 'failed', 'expired')
                     THEN COALESCE(attempt.finished_at, now()) END,
  poll_at = CASE WHEN given.state IN ('delivered', 'failed', 'expired') THEN NULL
                 WHEN given.state = 'sent' AND given.poll_in IS NULL THEN attempt.poll_at
                 ELSE now() + make_interval(secs => given.poll_in) END
FROM (
  SELECT * FROM json_to_recordset(%(attempts)s::json) AS given(
    id uuid, state text, provider_id text, error_class text, error_code text, error_detail text,
    polls int, poll_in float)
  LIMIT json_array_length(%(attempts)s::json)) AS given
WHERE attempt.id = given.id AND attempt.message_id BETWEEN :first_id AND :last_id
