-- A company's sends in a window that ends at the time of the statement: the transaction may have
-- waited for the lock since it began.
--: count
SELECT count(*) FILTER (WHERE created_at > start.at),
       COALESCE(EXTRACT(epoch FROM min(created_at) FILTER (WHERE created_at > start.at)
         - min(start.at)), 0)::int
FROM channels_message,
  (SELECT statement_timestamp() - make_interval(secs => %(seconds)s) AS at) start
WHERE phone = %(phone)s AND mode = %(mode)s AND state <> 'failed'
  AND created_at > statement_timestamp() - interval '1 day'
  AND company_id = %(company_id)s AND kind = %(kind)s::text

-- All companies' sends with their age; an empty pool refills within one day, half of these two.
--: sent
SELECT company_id, EXTRACT(epoch FROM statement_timestamp() - created_at)::float
FROM channels_message
WHERE phone = %s AND mode = 'live' AND kind = %s AND state <> 'failed'
  AND created_at > statement_timestamp() - interval '2 days'
ORDER BY created_at
