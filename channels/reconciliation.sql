-- Each query returns the breaches of its name. All run in one snapshot, so nothing changes in
-- between.
-- {messages} limits the messages, {transfers} and {attempts} theirs; queries without them read
-- the queue of open messages, or all transfers.

--: wallet differs from its transfers
SELECT 'company ' || COALESCE(wallet.company_id, booked.company_id)
FROM billing_wallet wallet FULL JOIN ({booked}) booked USING (company_id)
WHERE COALESCE(wallet.available, 0) <> COALESCE(booked.available, 0)
   OR COALESCE(wallet.held, 0) <> COALESCE(booked.held, 0)

--: balance after a transfer differs from its transfers
{wrong_balances}

--: held differs from the open holds
SELECT 'company ' || COALESCE(wallet.company_id, open_holds.company_id)
FROM billing_wallet wallet FULL JOIN (
  SELECT message.company_id, sum(message.price) AS held
  FROM channels_openmessage queued JOIN channels_message message ON message.id = queued.message_id
  WHERE message.mode = 'live' GROUP BY message.company_id) AS open_holds
USING (company_id) WHERE COALESCE(wallet.held, 0) <> COALESCE(open_holds.held, 0)

--: final message not resolved exactly once
SELECT 'message ' || message.id FROM channels_message message
LEFT JOIN billing_transfer transfer ON transfer.message_id = message.id AND {transfers}
WHERE message.state IN ('delivered', 'failed', 'expired') AND message.price > 0 AND {messages}
GROUP BY message.id HAVING count(*) FILTER (WHERE transfer.kind = 'hold')
  <> count(*) FILTER (WHERE transfer.kind IN ('capture', 'release')) + message.is_owed::int
  OR count(*) FILTER (WHERE transfer.kind = 'hold') = 0

--: open message without exactly one open hold
SELECT 'message ' || message.id FROM channels_message message
LEFT JOIN billing_transfer transfer ON transfer.message_id = message.id AND {transfers}
WHERE message.state IN ('queued', 'sent') AND message.price > 0 AND {messages}
GROUP BY message.id HAVING count(*) FILTER (WHERE transfer.kind = 'hold')
  <> 1 + count(*) FILTER (WHERE transfer.kind IN ('capture', 'release'))

--: charged without proof
SELECT DISTINCT 'message ' || transfer.message_id FROM billing_transfer transfer
LEFT JOIN channels_message message ON message.id = transfer.message_id
LEFT JOIN channels_attempt attempt
  ON attempt.message_id = transfer.message_id AND attempt.state = 'delivered' AND {attempts}
WHERE {messages} AND {transfers} AND transfer.kind = 'capture'
  AND (transfer.proof = '' OR message.state IS DISTINCT FROM 'delivered' OR attempt.id IS NULL)

--: closed month differs from its charges or the month before
SELECT 'company ' || company_id || ' in ' || to_char(month, 'YYYY-MM') FROM (
  SELECT company_id, month, opening, spent, lag(closing) OVER months AS before,
    lag(month) OVER months AS last, COALESCE((
      SELECT sum((charge->>'tokens')::bigint)
      FROM jsonb_array_elements(charges) AS charge), 0) AS charged
  FROM billing_closedmonth WINDOW months AS (PARTITION BY company_id ORDER BY month)
  ) AS closed_month
WHERE charged <> spent OR opening <> before OR last + interval '1 month' <> month

--: lots of tokens differ from the last closed month
SELECT 'company ' || company_id FROM (
  SELECT DISTINCT ON (company_id) company_id, closing FROM billing_closedmonth
  ORDER BY company_id, month DESC) AS closed_month
WHERE closing <> (
  SELECT COALESCE(sum(tokens - used - withdrawn), 0) FROM billing_lot lot
  WHERE lot.company_id = closed_month.company_id)

--: documents differ from their closed month
SELECT 'company ' || company_id || ' in ' || to_char(month, 'YYYY-MM')
FROM billing_closedmonth closed_month WHERE NOT is_due AND (
    SELECT COALESCE(sum((charge->>'amount')::numeric), 0)
    FROM jsonb_array_elements(charges) AS charge)
  <> (SELECT COALESCE(sum(amount), 0) FROM billing_document document
      WHERE document.company_id = closed_month.company_id AND document.month = closed_month.month
        AND document.kind = 'closing')

--: transfer of a message that does not exist
SELECT 'transfer ' || transfer.id FROM billing_transfer transfer
LEFT JOIN channels_message message ON message.id = transfer.message_id AND {messages}
WHERE transfer.message_id IS NOT NULL AND message.id IS NULL AND {transfers}

--: paid top-up not credited exactly once
SELECT 'top-up ' || billing_order.id FROM billing_order
LEFT JOIN billing_transfer transfer
  ON transfer.key = 'top_up:' || replace(billing_order.id::text, '-', '')
    AND transfer.message_id IS NULL
WHERE billing_order.state = 'paid' AND (transfer.id IS NULL OR transfer.kind <> 'top_up'
  OR transfer.company_id <> billing_order.company_id OR transfer.amount <> billing_order.tokens
  OR 1 <> (SELECT count(*) FROM billing_payment payment WHERE payment.order_id = billing_order.id
           AND payment.is_credited))

--: credited without a paid top-up
SELECT 'transfer ' || transfer.id FROM billing_transfer transfer
LEFT JOIN billing_order
  ON transfer.key = 'top_up:' || replace(billing_order.id::text, '-', '')
    AND billing_order.state = 'paid'
WHERE transfer.kind = 'top_up' AND billing_order.id IS NULL

--: credited payment of an unpaid top-up
SELECT 'payment ' || payment.id FROM billing_payment payment
LEFT JOIN billing_order ON billing_order.id = payment.order_id
WHERE payment.is_credited AND billing_order.state IS DISTINCT FROM 'paid'

--: open past its deadline
SELECT 'message ' || message_id FROM channels_openmessage
WHERE deadline < now() - interval '1 minute'

--: owed without a try in a vendor's hands
SELECT 'message ' || message.id
FROM channels_openmessage queued JOIN channels_message message ON message.id = queued.message_id
WHERE message.is_owed AND (message.state <> 'delivered' OR NOT EXISTS (
  SELECT FROM channels_attempt attempt
  WHERE attempt.message_id = message.id AND attempt.hold = message.hold
    AND attempt.state IN ('submitting', 'ambiguous', 'sent')))

--: hold of another price than its message
SELECT 'message ' || message.id
FROM channels_openmessage queued JOIN channels_message message ON message.id = queued.message_id
JOIN billing_transfer transfer ON transfer.message_id = message.id AND transfer.hold = message.hold
  AND transfer.kind = 'hold'
WHERE transfer.amount <> message.price

--: open message missing from the queue
SELECT 'message ' || message.id FROM channels_message message
WHERE (message.state IN ('queued', 'sent') OR message.is_owed) AND {messages}
  AND NOT EXISTS (SELECT FROM channels_openmessage queued WHERE queued.message_id = message.id)

--: queued otherwise than its message
SELECT 'message ' || queued.message_id
FROM channels_openmessage queued LEFT JOIN channels_message message
  ON message.id = queued.message_id
LEFT JOIN channels_attempt attempt ON attempt.message_id = queued.message_id
  AND attempt.state IN ('submitting', 'ambiguous', 'sent')
WHERE (message.state IN ('queued', 'sent') OR message.is_owed) IS NOT TRUE
  OR (queued.priority, queued.due_at, queued.useful_until, queued.deadline, queued.fallback_at,
      queued.route_key)
    IS DISTINCT FROM (message.priority, message.due_at, message.useful_until, message.deadline,
      message.fallback_at, concat_ws(' ', message.mode, message.channel, message.content))
  OR queued.attempt_id IS DISTINCT FROM attempt.id
