-- Each query returns the breaches of its name. All run in one snapshot, so nothing changes in
-- between.
-- {messages} limits the messages `m`, {transfers} and {attempts} theirs; queries without them read
-- the queue of open messages, or all transfers.

--: wallet differs from its transfers
SELECT 'company ' || COALESCE(w.company_id, t.company_id)
FROM billing_wallet w FULL JOIN ({booked}) t USING (company_id)
WHERE COALESCE(w.available, 0) <> COALESCE(t.available, 0)
   OR COALESCE(w.held, 0) <> COALESCE(t.held, 0)

--: balance after a transfer differs from its transfers
{wrong_balances}

--: held differs from the open holds
SELECT 'company ' || COALESCE(w.company_id, m.company_id)
FROM billing_wallet w FULL JOIN (
  SELECT m.company_id, sum(m.price) AS held
  FROM channels_openmessage o JOIN channels_message m ON m.id = o.message_id
  WHERE m.mode = 'live' GROUP BY m.company_id) m
USING (company_id) WHERE COALESCE(w.held, 0) <> COALESCE(m.held, 0)

--: final message not resolved exactly once
SELECT 'message ' || m.id FROM channels_message m
LEFT JOIN billing_transfer t ON t.message_id = m.id AND {transfers}
WHERE m.state IN ('delivered', 'failed', 'expired') AND m.price > 0 AND {messages}
GROUP BY m.id HAVING count(*) FILTER (WHERE t.kind = 'hold')
  <> count(*) FILTER (WHERE t.kind IN ('capture', 'release')) + m.is_owed::int
  OR count(*) FILTER (WHERE t.kind = 'hold') = 0

--: open message without exactly one open hold
SELECT 'message ' || m.id FROM channels_message m
LEFT JOIN billing_transfer t ON t.message_id = m.id AND {transfers}
WHERE m.state IN ('queued', 'sent') AND m.price > 0 AND {messages}
GROUP BY m.id HAVING count(*) FILTER (WHERE t.kind = 'hold')
  <> 1 + count(*) FILTER (WHERE t.kind IN ('capture', 'release'))

--: charged without proof
SELECT DISTINCT 'message ' || t.message_id FROM billing_transfer t
LEFT JOIN channels_message m ON m.id = t.message_id
LEFT JOIN channels_attempt a
  ON a.message_id = t.message_id AND a.state = 'delivered' AND {attempts}
WHERE {messages} AND {transfers} AND t.kind = 'capture'
  AND (t.proof = '' OR m.state IS DISTINCT FROM 'delivered' OR a.id IS NULL)

--: closed month differs from its charges or the month before
SELECT 'company ' || company_id || ' in ' || to_char(month, 'YYYY-MM') FROM (
  SELECT company_id, month, opening, spent, lag(closing) OVER months AS before,
    lag(month) OVER months AS last, COALESCE((
      SELECT sum((charge->>'tokens')::bigint)
      FROM jsonb_array_elements(charges) AS charge), 0) AS charged
  FROM billing_closedmonth WINDOW months AS (PARTITION BY company_id ORDER BY month)) AS c
WHERE charged <> spent OR opening <> before OR last + interval '1 month' <> month

--: lots of tokens differ from the last closed month
SELECT 'company ' || company_id FROM (
  SELECT DISTINCT ON (company_id) company_id, closing FROM billing_closedmonth
  ORDER BY company_id, month DESC) AS c
WHERE closing <> (
  SELECT COALESCE(sum(tokens - used - withdrawn), 0) FROM billing_lot l
  WHERE l.company_id = c.company_id)

--: documents differ from their closed month
SELECT 'company ' || company_id || ' in ' || to_char(month, 'YYYY-MM')
FROM billing_closedmonth c WHERE NOT is_due AND (
    SELECT COALESCE(sum((charge->>'amount')::numeric), 0)
    FROM jsonb_array_elements(charges) AS charge)
  <> (SELECT COALESCE(sum(amount), 0) FROM billing_document d
      WHERE d.company_id = c.company_id AND d.month = c.month AND d.kind = 'closing')

--: transfer of a message that does not exist
SELECT 'transfer ' || t.id FROM billing_transfer t
LEFT JOIN channels_message m ON m.id = t.message_id AND {messages}
WHERE t.message_id IS NOT NULL AND m.id IS NULL AND {transfers}

--: paid top-up not credited exactly once
SELECT 'top-up ' || o.id FROM billing_order o
LEFT JOIN billing_transfer t
  ON t.key = 'top_up:' || replace(o.id::text, '-', '') AND t.message_id IS NULL
WHERE o.state = 'paid' AND (t.id IS NULL OR t.kind <> 'top_up'
  OR t.company_id <> o.company_id OR t.amount <> o.tokens
  OR 1 <> (SELECT count(*) FROM billing_payment p WHERE p.order_id = o.id
           AND p.is_credited))

--: credited without a paid top-up
SELECT 'transfer ' || t.id FROM billing_transfer t
LEFT JOIN billing_order o
  ON t.key = 'top_up:' || replace(o.id::text, '-', '') AND o.state = 'paid'
WHERE t.kind = 'top_up' AND o.id IS NULL

--: credited payment of an unpaid top-up
SELECT 'payment ' || p.id FROM billing_payment p
LEFT JOIN billing_order o ON o.id = p.order_id
WHERE p.is_credited AND o.state IS DISTINCT FROM 'paid'

--: open past its deadline
SELECT 'message ' || message_id FROM channels_openmessage
WHERE deadline < now() - interval '1 minute'

--: owed without a try in a vendor's hands
SELECT 'message ' || m.id
FROM channels_openmessage o JOIN channels_message m ON m.id = o.message_id
WHERE m.is_owed AND (m.state <> 'delivered' OR NOT EXISTS (
  SELECT FROM channels_attempt a WHERE a.message_id = m.id AND a.hold = m.hold
    AND a.state IN ('submitting', 'ambiguous', 'sent')))

--: hold of another price than its message
SELECT 'message ' || m.id
FROM channels_openmessage o JOIN channels_message m ON m.id = o.message_id
JOIN billing_transfer t ON t.message_id = m.id AND t.hold = m.hold AND t.kind = 'hold'
WHERE t.amount <> m.price

--: open message missing from the queue
SELECT 'message ' || m.id FROM channels_message m
WHERE (m.state IN ('queued', 'sent') OR m.is_owed) AND {messages}
  AND NOT EXISTS (SELECT FROM channels_openmessage o WHERE o.message_id = m.id)

--: queued otherwise than its message
SELECT 'message ' || o.message_id
FROM channels_openmessage o LEFT JOIN channels_message m ON m.id = o.message_id
LEFT JOIN channels_attempt a ON a.message_id = o.message_id
  AND a.state IN ('submitting', 'ambiguous', 'sent')
WHERE (m.state IN ('queued', 'sent') OR m.is_owed) IS NOT TRUE
  OR (o.priority, o.due_at, o.useful_until, o.deadline, o.fallback_at, o.route_key)
    IS DISTINCT FROM (m.priority, m.due_at, m.useful_until, m.deadline, m.fallback_at,
      concat_ws(' ', m.mode, m.channel, m.content))
  OR o.attempt_id IS DISTINCT FROM a.id
