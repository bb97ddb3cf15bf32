-- Settles correct codes whose messages are all final and had no link, if no webhook subscribes.
-- They prove nothing, as `test_code_of_a_finished_message_changes_no_money` tests; the others may,
-- so `channels/lifecycle/state_machine.py` decides on them. `due`: the number of rows read.
WITH unsettled AS (
  SELECT verification.id, (  -- not EXISTS, for which PostgreSQL may read all messages at once
      SELECT count(*) FROM channels_message message
      WHERE message.subject_id = verification.id AND message.id BETWEEN :first_id AND :last_id
        AND (message.state IN ('queued', 'sent') OR message.params ->> 'link' IS NOT NULL)) > 0
    OR {has_subscribers} AS is_unfinished
  FROM otp_verification verification WHERE verified_at IS NOT NULL AND settled_at IS NULL
    AND id BETWEEN :first_id AND :last_id
  ORDER BY verified_at LIMIT %s FOR NO KEY UPDATE OF verification SKIP LOCKED),
settled AS (
  UPDATE otp_verification verification SET settled_at = now() FROM unsettled
  WHERE verification.id = unsettled.id AND verification.id BETWEEN :first_id AND :last_id
    AND NOT unsettled.is_unfinished
  RETURNING verification.id)
SELECT ARRAY(SELECT id FROM settled) AS settled, (SELECT count(*) FROM unsettled) AS due
