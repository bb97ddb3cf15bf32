-- Marks messages and their first attempts as sent if nothing has changed the rows since their
-- claim, whose transaction is `claim_xid`: one round trip, one commit. The message is locked before
-- its attempt. Returns the attempts written; the caller reads and decides the others. Writes what
-- `channels/lifecycle/state_machine.py` decides: `test_acceptance_statement_matches_state_machine`.
-- {stale_days} marks their day's counts stale.
WITH unchanged AS (
  SELECT acceptance.* FROM (
    SELECT * FROM json_to_recordset(%(acceptances)s::json) AS acceptance(
      message_id uuid, attempt_id uuid, claim_xid xid, provider_id text, poll_in float)
    LIMIT json_array_length(%(acceptances)s::json)) AS acceptance
  JOIN channels_message message ON message.id = acceptance.message_id
  WHERE message.xmin = acceptance.claim_xid AND message.id BETWEEN :first_id AND :last_id
  ORDER BY message.id FOR UPDATE OF message),
accepted AS (
  UPDATE channels_attempt attempt SET state = 'sent', provider_id = unchanged.provider_id,
    lease_until = NULL, accepted_at = now(),
    poll_at = now() + make_interval(secs => unchanged.poll_in)
  FROM unchanged
  WHERE attempt.id = unchanged.attempt_id AND attempt.xmin = unchanged.claim_xid
    AND attempt.message_id BETWEEN :first_id AND :last_id
  RETURNING attempt.message_id, attempt.id),
changed AS (
  UPDATE channels_message message SET state = 'sent', sent_at = GREATEST(message.created_at, now())
  FROM accepted WHERE message.id = accepted.message_id AND message.id BETWEEN :first_id AND :last_id
  RETURNING accepted.id, message.company_id, message.mode,
    (message.created_at AT TIME ZONE %(zone)s)::date AS day),
stale AS ({stale_days})
SELECT id FROM changed
