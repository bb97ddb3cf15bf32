WITH happened AS (
  SELECT n.event_id AS id, m.company_id, m.mode, 'message.' || m.state AS kind, 'msg_' ||
    replace(m.id::text, '-', '') AS key, jsonb_build_object( 'id', 'msg_' || replace(m.id::text,
    '-', ''), 'kind', m.kind, 'phone', m.phone, 'channel', m.channel, 'status', m.state, 'error',
    NULLIF(m.error, ''), 'cost', m.price, 'segments', CASE WHEN m.channel IN ('sms') THEN m.segments
    END, 'short_url', m.params->'short_url', 'test', m.mode = 'test', 'request_id', m.request_id,
    'created_at', to_char(m.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'sent_at', to_char(m.sent_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'delivered_at', to_char(m.delivered_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    'finished_at', to_char(m.finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')) AS
    data, now() AS at
  FROM channels_message m
  JOIN unnest(%s::uuid[], %s::uuid[]) AS n(id, event_id) ON m.id = n.id
  WHERE m.id BETWEEN :first_id AND :last_id),
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
