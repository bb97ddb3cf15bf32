-- A company's days since the last seal, except days whose transfers are partly archived.
SELECT seal.company_id, COALESCE(before.available + before.held, 0) AS opening,
  COALESCE((before.day + 1)::timestamp AT TIME ZONE 'UTC', '-infinity') AS since,
  (seal.day + 1)::timestamp AT TIME ZONE 'UTC' AS until
FROM billing_seal seal LEFT JOIN LATERAL (
  SELECT day, available, held FROM billing_seal
  WHERE company_id = seal.company_id AND day < seal.day ORDER BY day DESC LIMIT 1) AS before ON true
WHERE seal.id > {after} AND seal.id <= {until} AND seal.day > COALESCE((
  SELECT max(last_at AT TIME ZONE 'UTC')::date FROM billing_archivedsum
  WHERE company_id = seal.company_id), '-infinity')
