-- Settles correct codes if all of their messages are final, none had a link, and no webhook
-- subscribes. `due`: the number of rows read. The others have something to prove, which
-- `channels/lifecycle/state_machine.py` decides on; that these do not is tested by
-- `test_code_of_a_finished_message_changes_no_money`.
WITH unsettled AS (
  SELECT v.id, (  -- not EXISTS, for which PostgreSQL may read all messages at once
      SELECT count(*) FROM channels_message m
      WHERE m.subject_id = v.id AND m.id BETWEEN :first_id AND :last_id
        AND (m.state IN ('queued', 'sent') OR m.params ->> 'link' IS NOT NULL)) > 0
    OR {has_subscribers} AS is_unfinished
  FROM otp_verification v WHERE verified_at IS NOT NULL AND settled_at IS NULL
    AND id BETWEEN :first_id AND :last_id
  ORDER BY verified_at LIMIT %s FOR NO KEY UPDATE OF v SKIP LOCKED),
settled AS (
  UPDATE otp_verification v SET settled_at = now() FROM unsettled
  WHERE v.id = unsettled.id AND v.id BETWEEN :first_id AND :last_id AND NOT unsettled.is_unfinished
  RETURNING v.id)
SELECT ARRAY(SELECT id FROM settled) AS settled, (SELECT count(*) FROM unsettled) AS due
