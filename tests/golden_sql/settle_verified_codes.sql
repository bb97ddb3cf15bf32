WITH settled AS (
  UPDATE otp_verification v
  SET settled_at = now()
  FROM unnest(%s::uuid[], %s::uuid[]) AS n(id, event_id)
  WHERE v.id = n.id AND v.id BETWEEN :first_id AND :last_id
  RETURNING v.id, company_id, mode, phone, purpose, verified_at, n.event_id),
happened AS (
  SELECT event_id AS id, company_id, mode, 'otp.verified' AS kind, 'otp_' || replace(id::text, '-',
    '') AS key, jsonb_build_object( 'id', 'otp_' || replace(id::text, '-', ''), 'phone', phone,
    'purpose', purpose, 'test', mode = 'test', 'verified_at', to_char(verified_at AT TIME ZONE
    'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) AS data, verified_at AS at
  FROM settled),
wanted AS (
  SELECT h.id, h.company_id, h.mode, h.kind, h.key, h.data, h.at, e.id AS endpoint_id
  FROM happened h
  JOIN webhooks_endpoint e ON e.company_id = h.company_id AND e.mode = h.mode AND h.kind =
    ANY(e.kinds) AND e.disabled_at IS NULL AND e.deleted_at IS NULL),
event AS (
  INSERT INTO webhooks_event (id, company_id, mode, kind, key, data, at)
  SELECT DISTINCT ON (id) id, company_id, mode, kind, key, data, at
  FROM wanted
  ON CONFLICT DO NOTHING
  RETURNING id)
INSERT INTO webhooks_delivery (id, event_id, endpoint_id)
SELECT gen_random_uuid(), event.id, wanted.endpoint_id
FROM event
JOIN wanted USING (id)
