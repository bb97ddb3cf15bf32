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
  SELECT matched.receipt_id, matched.id AS attempt_id FROM matched JOIN channels_message m
    ON m.id = matched.message_id AND m.id BETWEEN :first_id AND :last_id
  WHERE matched.receipt_state = 'sent' AND matched.state IN ('sent', 'delivered')
    AND m.state IN ('sent', 'delivered')),
deliveries AS (
  SELECT DISTINCT ON (message_id) * FROM matched
  WHERE receipt_state = 'delivered' AND NOT EXISTS (  -- a receipt with another outcome waits too
    SELECT FROM stored WHERE stored.provider = matched.provider
      AND stored.provider_id = matched.provider_id
      AND stored.state NOT IN ('sent', 'delivered'))),
unchanged AS (
  SELECT deliveries.* FROM deliveries JOIN channels_message m ON m.id = deliveries.message_id
  WHERE m.state = 'sent' AND m.hold = deliveries.hold AND m.id BETWEEN :first_id AND :last_id
    AND NOT {has_subscribers}
  ORDER BY m.id FOR UPDATE OF m SKIP LOCKED),
delivered AS (
  UPDATE channels_attempt attempt SET state = 'delivered', lease_until = NULL, poll_at = NULL,
    accepted_at = COALESCE(attempt.accepted_at, now()),
    finished_at = COALESCE(attempt.finished_at, now())
  FROM unchanged
  WHERE attempt.id = unchanged.id AND attempt.state = 'sent'
    AND attempt.message_id BETWEEN :first_id AND :last_id
  RETURNING attempt.message_id, attempt.id, unchanged.receipt_id, unchanged.provider, unchanged.at),
changed AS (
  UPDATE channels_message m SET state = 'delivered', is_undelivered = false, error = '',
    fallback_at = NULL, due_at = NULL,
    sent_at = COALESCE(m.sent_at, GREATEST(m.created_at, LEAST(delivered.at, now()))),
    delivered_at = COALESCE(m.delivered_at, GREATEST(m.created_at, m.sent_at,
      LEAST(delivered.at, now()))),
    finished_at = COALESCE(m.finished_at, now())
  FROM delivered WHERE m.id = delivered.message_id AND m.id BETWEEN :first_id AND :last_id
  RETURNING delivered.receipt_id, delivered.provider, delivered.id AS attempt_id,
    m.id AS message_id, m.company_id, m.mode, m.channel, m.price, m.hold,
    (m.created_at AT TIME ZONE %(zone)s)::date AS day),
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
