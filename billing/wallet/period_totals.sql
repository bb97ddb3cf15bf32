-- The balance before each given transfer, in the given order.
--: balances
SELECT COALESCE(previous.balance_after, %(opening)s)
FROM unnest(%(times)s::timestamptz[], %(ids)s::bigint[]) WITH ORDINALITY AS given(at, id, position)
LEFT JOIN LATERAL (
  SELECT balance_after FROM billing_transfer
  WHERE company_id = %(company)s AND created_at > %(opened_at)s AND created_at <= given.at
    AND (created_at, id) < (given.at, given.id) AND balance_after IS NOT NULL
  ORDER BY created_at DESC, id DESC LIMIT 1) AS previous ON true
ORDER BY position

-- Settled tokens by company and day. Reads each company by its own index entry: an index across
-- companies would slow down every transfer.
--: settled
SELECT wallet.company_id, total.day, total.spent, total.returned
FROM billing_wallet wallet, LATERAL (
  SELECT (created_at AT TIME ZONE %(zone)s)::date AS day,
         COALESCE(sum(amount) FILTER (WHERE kind = 'capture'), 0)::bigint AS spent,
         COALESCE(sum(amount) FILTER (WHERE kind = 'release'), 0)::bigint AS returned
  FROM billing_transfer WHERE company_id = wallet.company_id
    AND created_at >= %(start)s AND created_at < %(end)s
  GROUP BY 1) total
WHERE (%(company_id)s::bigint IS NULL OR wallet.company_id = %(company_id)s)
  AND spent + returned > 0
