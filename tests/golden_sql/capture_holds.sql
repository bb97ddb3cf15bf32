WITH asked AS (
  SELECT *
  FROM (
    SELECT *
    FROM json_to_recordset(%(settlements)s::json) AS n(company_id bigint, kind text, amount bigint,
      message_id uuid, hold smallint, proof text, reason text, country text, api_key text)
    LIMIT json_array_length(%(settlements)s::json)) AS n),
moved AS (
  INSERT INTO billing_transfer (company_id, kind, amount, message_id, hold, proof, reason)
  SELECT company_id, kind, amount, message_id, hold, proof, reason
  FROM asked
  ON CONFLICT DO NOTHING
  RETURNING company_id, kind, amount, message_id, hold),
due AS (
  SELECT company_id, sum(amount) AS settled, COALESCE(sum(amount) FILTER (WHERE kind = 'release'),
    0) AS returned
  FROM moved
  GROUP BY company_id),
locked AS (
  SELECT company_id
  FROM billing_wallet
  WHERE company_id IN (
    SELECT company_id
    FROM due)
  ORDER BY company_id FOR UPDATE) UPDATE billing_wallet w
SET held = w.held - due.settled, available = w.available + due.returned
FROM due
JOIN locked USING (company_id)
WHERE w.company_id = due.company_id
