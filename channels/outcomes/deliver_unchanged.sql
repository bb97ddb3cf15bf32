-- Applies due receipts that deliver a sent message on its present channel, and charges for it; also
-- those that repeat a stored *sent*. One round trip, one commit. Decides as
-- `channels/lifecycle/state_machine.py`: `test_one_statement_decides_as_the_state_machine`. Skips
-- companies with webhooks, and messages that another transaction has locked. Every row
-- repeats the counts of due and applied receipts; without deliveries there is one row, its other
-- columns NULL.
--
-- {capture} charges for `changed`, and {stale_days} marks their day's counts stale.
WITH stored AS (
  SELECT id, state, provider, provider_id, error_code, ref, at,
    phone = '' AND alternatives = '{}' AS is_plain
  FROM channels_receipt
  WHERE due_at <= now() AND received_at >= :start AND received_at < :end
  ORDER BY due_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED),
matched AS (
  SELECT stored.id AS receipt_id, stored.state AS receipt_state, stored.provider,
    stored.provider_id, stored.at, attempt.message_id, attempt.id, attempt.hold, attempt.state
  FROM stored CROSS JOIN LATERAL (
    SELECT message_id, id, hold, state FROM channels_attempt
    WHERE provider = stored.provider AND provider_id = stored.provider_id
      AND message_id BETWEEN :first_id AND :last_id
    ORDER BY message_id DESC LIMIT 1) AS attempt
  WHERE stored.state IN ('sent', 'delivered') AND stored.error_code = '' AND stored.is_plain
    AND COALESCE(stored.ref, attempt.id) = attempt.id
    AND NOT EXISTS (SELECT FROM channels_part part
                    WHERE part.provider = stored.provider
                      AND part.provider_id = stored.provider_id)),
repeated AS (
  SELECT matched.receipt_id, matched.id AS attempt_id FROM matched JOIN channels_message message
    ON message.id = matched.message_id AND message.id BETWEEN :first_id AND :last_id
  WHERE matched.receipt_state = 'sent' AND matched.state IN ('sent', 'delivered')
    AND message.state IN ('sent', 'delivered')),
deliveries AS (
  SELECT DISTINCT ON (message_id) * FROM matched
  WHERE receipt_state = 'delivered' AND NOT EXISTS (  -- a receipt with another outcome waits too
    SELECT FROM stored WHERE stored.provider = matched.provider
      AND stored.provider_id = matched.provider_id
      AND stored.state NOT IN ('sent', 'delivered'))),
unchanged AS (
  SELECT deliveries.*
  FROM deliveries JOIN channels_message message ON message.id = deliveries.message_id
  WHERE message.state = 'sent' AND message.hold = deliveries.hold
    AND message.id BETWEEN :first_id AND :last_id
    AND NOT {has_subscribers}
  ORDER BY message.id FOR UPDATE OF message SKIP LOCKED),
delivered AS (
  UPDATE channels_attempt attempt SET state = 'delivered', lease_until = NULL, poll_at = NULL,
    accepted_at = COALESCE(attempt.accepted_at, now()),
    finished_at = COALESCE(attempt.finished_at, now())
  FROM unchanged
  WHERE attempt.id = unchanged.id AND attempt.state = 'sent'
    AND attempt.message_id BETWEEN :first_id AND :last_id
  RETURNING attempt.message_id, attempt.id, unchanged.receipt_id, unchanged.provider, unchanged.at),
changed AS (
  UPDATE channels_message message SET state = 'delivered', is_undelivered = false, error = '',
    fallback_at = NULL, due_at = NULL,
    sent_at = COALESCE(message.sent_at, GREATEST(message.created_at, LEAST(delivered.at, now()))),
    delivered_at = COALESCE(message.delivered_at, GREATEST(message.created_at, message.sent_at,
      LEAST(delivered.at, now()))),
    finished_at = COALESCE(message.finished_at, now())
  FROM delivered WHERE message.id = delivered.message_id
    AND message.id BETWEEN :first_id AND :last_id
  RETURNING delivered.receipt_id, delivered.provider, delivered.id AS attempt_id,
    message.id AS message_id, message.company_id, message.mode, message.channel, message.price,
    message.hold, (message.created_at AT TIME ZONE %(zone)s)::date AS day),
stale AS ({stale_days}),
applied AS (
  UPDATE channels_receipt receipt
  SET due_at = NULL, applied_at = now(), attempt_id = applicable.attempt_id
  FROM (SELECT receipt_id, attempt_id FROM changed UNION ALL SELECT * FROM repeated) AS applicable
  WHERE receipt.id = applicable.receipt_id
    AND receipt.received_at >= :start AND receipt.received_at < :end
  RETURNING receipt.id),
{capture}
SELECT (SELECT count(*) FROM stored) AS due, (SELECT count(*) FROM applied) AS applied,
  message_id, attempt_id, mode, channel, price, provider
FROM (VALUES (1)) AS batch LEFT JOIN changed ON true
