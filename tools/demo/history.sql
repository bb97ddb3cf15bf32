--: grant: as much as deliveries cost, so that the balance is never below zero
SELECT company_id, 'grant' AS kind, sum(amount) AS amount, 'demo:' || company_id AS key,
  NULL::uuid AS message_id, NULL::int AS hold, '' AS proof, 'demo' AS reason,
  %(since)s::timestamptz AS created_at
FROM demo_transfer WHERE kind = 'capture' GROUP BY company_id

--: filled_days
SELECT (created_at AT TIME ZONE %s::text)::date, count(*) FROM channels_message
WHERE company_id = ANY(%s) AND params ->> 'key' = %s GROUP BY 1
