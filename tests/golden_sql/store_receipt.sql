WITH stored AS (
  INSERT INTO channels_receipt (provider, digest, provider_id, alternatives, phone, needs_phone,
    ref, state, word, error_code, error_detail, at, raw)
  SELECT provider, digest, provider_id, alternatives, phone, needs_phone, ref, state, word,
    error_code, error_detail, at, raw
  FROM (
    SELECT *
    FROM json_to_recordset(%(receipts)s::json) AS n(provider text, digest bytea, provider_id text,
      alternatives text[], phone text, needs_phone bool, ref uuid, state text, word text, error_code
      text, error_detail text, at timestamptz, raw bytea)
    LIMIT json_array_length(%(receipts)s::json)) AS n
  WHERE NOT (state = 'sent' AND n.phone = '' AND n.alternatives = '{}' AND EXISTS (
      SELECT 1
      FROM channels_attempt a
      WHERE a.provider = n.provider AND a.provider_id = n.provider_id AND a.state NOT IN
        ('submitting', 'ambiguous') AND a.message_id BETWEEN :first_id AND :last_id))
  ON CONFLICT DO NOTHING
  RETURNING digest),
recipients AS (
  INSERT INTO channels_knownrecipient AS known (vendor, user_id, attempt_id)
  SELECT vendor, user_id, attempt_id
  FROM (
    SELECT *
    FROM json_to_recordset(%(recipients)s::json) AS n(vendor text, user_id text, attempt_id uuid)
    LIMIT json_array_length(%(recipients)s::json)) AS n
  WHERE NOT EXISTS (
    SELECT 1
    FROM channels_knownrecipient seen
    WHERE seen.vendor = n.vendor AND seen.user_id = n.user_id AND seen.seen_at >= now() - interval
      '1 day')
  ON CONFLICT (vendor, user_id) DO UPDATE
  SET attempt_id = excluded.attempt_id, seen_at = now()
  WHERE known.seen_at < now() - interval '1 day')
SELECT digest
FROM stored
