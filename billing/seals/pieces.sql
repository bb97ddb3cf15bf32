-- The next transfers of a company in the order of time, as sums and lines by day and month. Returns
-- the last transfer read, after which the next statement continues.
WITH chunk AS MATERIALIZED (
  SELECT id, created_at, (created_at AT TIME ZONE 'UTC')::date AS day, {month} AS month,
    {available} AS available, {held} AS held, {line} AS line
  FROM billing_transfer WHERE company_id = %(company)s
    AND created_at >= %(at)s AND created_at < %(until)s AND (created_at, id) > (%(at)s, %(id)s)
  ORDER BY created_at, id LIMIT {limit}),
last AS (SELECT created_at, id FROM chunk ORDER BY created_at DESC, id DESC LIMIT 1)
SELECT day, month, count(*) AS transfers, sum(available)::bigint AS available,
  sum(held)::bigint AS held,
  string_agg(line || E'\n', '' ORDER BY chunk.created_at, chunk.id) AS lines,
  last.created_at AS last_at, last.id AS last_id
FROM chunk CROSS JOIN last GROUP BY day, month, last.created_at, last.id ORDER BY day, month
