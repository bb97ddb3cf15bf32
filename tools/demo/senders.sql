--: transfers
SELECT company_id, 'top_up' AS kind, tokens AS amount,
  'top_up:' || replace(id::text, '-', '') AS key, NULL::uuid AS message_id,
  NULL::int AS hold, '' AS proof, '' AS reason, created_at
FROM billing_order WHERE id = ANY(%(orders)s)

--: short
SELECT wallet.company_id, due.tokens - wallet.available, due.at FROM billing_wallet wallet JOIN (
  SELECT company_id, sum(COALESCE(first_price, 0) + price) AS tokens, min(at) AS at
  FROM demo_message GROUP BY company_id) AS due USING (company_id)
WHERE due.tokens > wallet.available
