-- Companies that lack the newest month, had transfers before its end, and are sealed up to it.
--: due
SELECT wallet.company_id FROM billing_wallet wallet
WHERE NOT EXISTS (
    SELECT FROM billing_closedmonth closed_month
    WHERE closed_month.company_id = wallet.company_id AND closed_month.month = %(month)s)
  AND EXISTS (
    SELECT FROM billing_transfer transfer
    WHERE transfer.company_id = wallet.company_id AND transfer.created_at < %(end)s)
  AND NOT EXISTS (
    SELECT FROM billing_transfer transfer
    WHERE transfer.company_id = wallet.company_id AND transfer.created_at < %(end)s
      AND transfer.created_at >= COALESCE((
        SELECT (max(seal.day) + 1)::timestamp AT TIME ZONE 'UTC' FROM billing_seal seal
        WHERE seal.company_id = wallet.company_id), '-infinity'))
ORDER BY wallet.company_id

-- When a company's first transfer was made.
--: first_transfer
SELECT created_at FROM billing_transfer WHERE company_id = %s ORDER BY created_at, id LIMIT 1

-- The tokens that a company's messages cost in a period.
--: spent
SELECT COALESCE(sum(amount), 0)::bigint FROM billing_transfer
WHERE company_id = %(company)s AND kind = 'capture'
  AND created_at >= %(start)s AND created_at < %(end)s
