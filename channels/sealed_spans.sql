-- A company's days since the last seal, except days whose transfers are partly archived.
SELECT s.company_id, COALESCE(before.available + before.held, 0) AS opening,
  COALESCE((before.day + 1)::timestamp AT TIME ZONE 'UTC', '-infinity') AS since,
  (s.day + 1)::timestamp AT TIME ZONE 'UTC' AS until
FROM billing_seal s LEFT JOIN LATERAL (
  SELECT day, available, held FROM billing_seal
  WHERE company_id = s.company_id AND day < s.day ORDER BY day DESC LIMIT 1) AS before ON true
WHERE s.id > {after} AND s.id <= {until} AND s.day > COALESCE((
  SELECT max(last_at AT TIME ZONE 'UTC')::date FROM billing_archivedsum
  WHERE company_id = s.company_id), '-infinity')
