-- The next company with transfers, seals or archived sums, by a loose index scan of each table.
--: next_company
SELECT LEAST(
  (SELECT company_id FROM billing_transfer WHERE company_id > %(after)s
   ORDER BY company_id LIMIT 1),
  (SELECT company_id FROM billing_seal WHERE company_id > %(after)s
   ORDER BY company_id LIMIT 1),
  (SELECT company_id FROM billing_archivedsum WHERE company_id > %(after)s
   ORDER BY company_id LIMIT 1))

-- A company's archived months whose sums differ from its seals, or whose holds are not settled once
-- each. The first one has all earlier months.
--: wrong_archived_sums
WITH sealed AS (
  SELECT gone.month, sum(part.transfers) AS transfers, sum(part.available) AS available,
    sum(part.held) AS held, max(seal.day) AS last_day
  FROM billing_seal seal CROSS JOIN LATERAL jsonb_to_recordset(seal.parts)
    AS part(month text, transfers bigint, available bigint, held bigint)
  CROSS JOIN LATERAL (
    SELECT min(month) AS month FROM billing_archivedmonth
    WHERE to_char(month, 'YYYY-MM') COLLATE "C" >= part.month) AS gone
  WHERE seal.company_id = %(company)s AND part.month <> '' AND gone.month IS NOT NULL
    AND EXISTS (SELECT FROM billing_archivedmonth)
  GROUP BY gone.month),
kept AS (
  SELECT month_id AS month, sum(transfers) AS transfers,
    sum({available}) AS available,
    sum({held}) AS held,
    max((last_at AT TIME ZONE 'UTC')::date) AS last_day,
    bool_and(kind IN ('hold', 'capture', 'release'))
      AND sum(transfers) = 2 * sum(transfers) FILTER (WHERE kind = 'hold') AS is_settled
  FROM billing_archivedsum WHERE company_id = %(company)s GROUP BY month_id)
SELECT month FROM sealed FULL JOIN kept USING (month)
WHERE (sealed.transfers, sealed.available, sealed.held, sealed.last_day)
  IS DISTINCT FROM (kept.transfers, kept.available, kept.held, kept.last_day)
  OR kept.is_settled IS NOT TRUE
ORDER BY month
