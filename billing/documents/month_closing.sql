-- Companies that lack the newest month, had transfers before its end, and are sealed up to it.
--: due
SELECT w.company_id FROM billing_wallet w
WHERE NOT EXISTS (
    SELECT FROM billing_closedmonth c WHERE c.company_id = w.company_id AND c.month = %(month)s)
  AND EXISTS (
    SELECT FROM billing_transfer t WHERE t.company_id = w.company_id AND t.created_at < %(end)s)
  AND NOT EXISTS (
    SELECT FROM billing_transfer t WHERE t.company_id = w.company_id AND t.created_at < %(end)s
      AND t.created_at >= COALESCE((
        SELECT (max(s.day) + 1)::timestamp AT TIME ZONE 'UTC' FROM billing_seal s
        WHERE s.company_id = w.company_id), '-infinity'))
ORDER BY w.company_id

--: first_transfer
SELECT created_at FROM billing_transfer WHERE company_id = %s ORDER BY created_at, id LIMIT 1

--: spent
SELECT COALESCE(sum(amount), 0)::bigint FROM billing_transfer
WHERE company_id = %(company)s AND kind = 'capture'
  AND created_at >= %(start)s AND created_at < %(end)s
