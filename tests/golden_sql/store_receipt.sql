WITH stored AS (
  INSERT INTO channels_receipt (provider, digest, provider_id, alternatives, phone, needs_phone,
    ref, state, word, error_code, error_detail, at, raw)
  SELECT *
  FROM (VALUES (%s::text, %s::bytea, %s::text, %s::text[], %s::text, %s::bool, %s::uuid, %s::text,
    %s::text, %s::text, %s::text, %s::timestamptz, %s::bytea)) AS n( provider, digest, provider_id,
    alternatives, phone, needs_phone, ref, state, word, error_code, error_detail, at, raw)
  WHERE NOT (state = 'sent' AND n.phone = '' AND n.alternatives = '{}' AND EXISTS (
      SELECT 1
      FROM channels_attempt a
      WHERE a.provider = n.provider AND a.provider_id = n.provider_id AND a.state NOT IN
        ('submitting', 'ambiguous') AND a.message_id BETWEEN :first_id AND :last_id))
  ON CONFLICT DO NOTHING
  RETURNING 1),
recipients AS (
  INSERT INTO channels_knownrecipient AS known (vendor, user_id, attempt_id)
  SELECT vendor, user_id, attempt_id::uuid
  FROM (
    SELECT %s::text AS vendor) v, json_each_text(%s::json) AS told(user_id, attempt_id)
  WHERE NOT EXISTS (
    SELECT 1
    FROM channels_knownrecipient seen
    WHERE seen.vendor = v.vendor AND seen.user_id = told.user_id AND seen.seen_at >= now() -
      interval '1 day')
  ON CONFLICT (vendor, user_id) DO UPDATE
  SET attempt_id = excluded.attempt_id, seen_at = now()
  WHERE known.seen_at < now() - interval '1 day')
SELECT count(*) AS number
FROM stored
