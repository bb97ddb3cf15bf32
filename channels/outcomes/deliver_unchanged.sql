-- Applies the due receipts by which a sent message is delivered on its present channel, and
-- charges for it, and those that repeat a known *sent*: in one round trip and one commit, as
-- `channels.lifecycle` would decide. Leaves the rest: companies with webhooks, and messages that
-- another transaction has locked. Every row repeats the counts of receipts met and applied; without
-- deliveries there is one row, its other columns NULL.
--
-- {capture} charges for `changed`, and {stale_days} marks their day's counts stale.
WITH stored AS (
  SELECT r.id, r.state, r.provider, r.provider_id, r.error_code, r.ref, r.at,
    r.phone = '' AND r.alternatives = '{}' AS is_plain
  FROM channels_receipt r
  WHERE r.due_at <= now() AND r.received_at >= :start AND r.received_at < :end
  ORDER BY r.due_at LIMIT %(limit)s FOR UPDATE OF r SKIP LOCKED),
matched AS (
  SELECT s.id AS receipt_id, s.state AS said, s.provider, s.provider_id, s.at,
    a.message_id, a.id, a.hold, a.state
  FROM stored s CROSS JOIN LATERAL (
    SELECT message_id, id, hold, state FROM channels_attempt
    WHERE provider = s.provider AND provider_id = s.provider_id
      AND message_id BETWEEN :first_id AND :last_id
    ORDER BY message_id DESC LIMIT 1) AS a
  WHERE s.state IN ('sent', 'delivered') AND s.error_code = '' AND s.is_plain
    AND COALESCE(s.ref, a.id) = a.id
    AND NOT EXISTS (SELECT 1 FROM channels_part p
                    WHERE p.provider = s.provider AND p.provider_id = s.provider_id)),
known AS (
  SELECT n.receipt_id, n.id AS attempt_id FROM matched n JOIN channels_message m
    ON m.id = n.message_id AND m.id BETWEEN :first_id AND :last_id
  WHERE n.said = 'sent' AND n.state IN ('sent', 'delivered') AND m.state IN ('sent', 'delivered')),
deliveries AS (
  SELECT DISTINCT ON (message_id) * FROM matched n
  WHERE said = 'delivered' AND NOT EXISTS (  -- whatever came first counts
    SELECT 1 FROM stored o WHERE o.provider = n.provider AND o.provider_id = n.provider_id
      AND o.state NOT IN ('sent', 'delivered'))),
unchanged AS (
  SELECT n.* FROM deliveries n JOIN channels_message m ON m.id = n.message_id
  WHERE m.state = 'sent' AND m.hold = n.hold AND m.id BETWEEN :first_id AND :last_id
    AND NOT {has_subscribers}
  ORDER BY m.id FOR UPDATE OF m SKIP LOCKED),
delivered AS (
  UPDATE channels_attempt a SET state = 'delivered', lease_until = NULL, poll_at = NULL,
    accepted_at = COALESCE(a.accepted_at, now()), finished_at = COALESCE(a.finished_at, now())
  FROM unchanged n
  WHERE a.id = n.id AND a.state = 'sent' AND a.message_id BETWEEN :first_id AND :last_id
  RETURNING a.message_id, a.id, n.receipt_id, n.provider, n.at),
changed AS (
  UPDATE channels_message m SET state = 'delivered', is_undelivered = false, error = '',
    fallback_at = NULL, due_at = NULL,
    sent_at = COALESCE(m.sent_at, GREATEST(m.created_at, LEAST(d.at, now()))),
    delivered_at = COALESCE(m.delivered_at, GREATEST(m.created_at, m.sent_at, LEAST(d.at, now()))),
    finished_at = COALESCE(m.finished_at, now())
  FROM delivered d WHERE m.id = d.message_id AND m.id BETWEEN :first_id AND :last_id
  RETURNING d.receipt_id, d.provider, d.id AS attempt_id, m.id AS message_id, m.company_id, m.mode,
    m.channel, m.price, m.hold, (m.created_at AT TIME ZONE %(zone)s)::date AS day),
stale AS ({stale_days}),
applied AS (
  UPDATE channels_receipt r SET due_at = NULL, applied_at = now(), attempt_id = n.attempt_id
  FROM (SELECT receipt_id, attempt_id FROM changed UNION ALL SELECT * FROM known) AS n
  WHERE r.id = n.receipt_id AND r.received_at >= :start AND r.received_at < :end
  RETURNING r.id),
{capture}
SELECT (SELECT count(*) FROM stored) AS due, (SELECT count(*) FROM applied) AS applied,
  message_id, attempt_id, mode, channel, price, provider
FROM (VALUES (1)) AS first LEFT JOIN changed ON true
