--: balances
SELECT COALESCE(t.balance_after, %(opening)s)
FROM unnest(%(times)s::timestamptz[], %(ids)s::bigint[]) WITH ORDINALITY AS m(at, id, n)
LEFT JOIN LATERAL (
  SELECT balance_after FROM billing_transfer
  WHERE company_id = %(company)s AND created_at > %(opened_at)s AND created_at <= m.at
    AND (created_at, id) < (m.at, m.id) AND balance_after IS NOT NULL
  ORDER BY created_at DESC, id DESC LIMIT 1) AS t ON true
ORDER BY n

-- Uses the per-company index: one across companies would slow down every transfer.
--: settled
SELECT w.company_id, t.day, t.spent, t.returned FROM billing_wallet w, LATERAL (
  SELECT (created_at AT TIME ZONE %(zone)s)::date AS day,
         COALESCE(sum(amount) FILTER (WHERE kind = 'capture'), 0)::bigint AS spent,
         COALESCE(sum(amount) FILTER (WHERE kind = 'release'), 0)::bigint AS returned
  FROM billing_transfer WHERE company_id = w.company_id
    AND created_at >= %(start)s AND created_at < %(end)s
  GROUP BY 1) t
WHERE (%(company_id)s::bigint IS NULL OR w.company_id = %(company_id)s) AND spent + returned > 0
