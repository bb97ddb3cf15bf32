-- Writes decided states of messages, which are locked. Vendors' clocks are wrong or have whole
-- seconds: clamps each time between the one it follows and now. {stale_days} marks their day's
-- counts stale.
WITH changed AS (
UPDATE channels_message m SET
  state = n.state, is_undelivered = n.state IN ('failed', 'expired'), error = n.error,
  channel = n.channel, chain = n.chain, hold = n.hold,
  price = n.price, is_owed = n.is_owed,
  fallback_at = CASE WHEN n.chain = '[]' OR n.state NOT IN ('queued', 'sent') THEN NULL
                     WHEN n.fallback_in IS NULL THEN m.fallback_at
                     ELSE now() + make_interval(secs => n.fallback_in) END,
  due_at = now() + make_interval(secs => n.due_in),
  sent_at = CASE WHEN n.state IN ('sent', 'delivered')
                 THEN COALESCE(m.sent_at, GREATEST(m.created_at, LEAST(n.at, now())))
                 ELSE m.sent_at END,
  delivered_at = CASE WHEN n.state = 'delivered'
                      THEN COALESCE(m.delivered_at,
                        GREATEST(m.created_at, m.sent_at, LEAST(n.at, now()))) END,
  read_at = CASE WHEN n.is_read
                 THEN COALESCE(m.read_at, GREATEST(m.created_at, m.sent_at, m.delivered_at,
                   LEAST(n.read_at, now())))
                 ELSE m.read_at END,
  finished_at = CASE WHEN n.state IN ('delivered', 'failed', 'expired')
                     THEN COALESCE(m.finished_at, now()) END
FROM (
  SELECT * FROM json_to_recordset(%(messages)s::json) AS n(
    id uuid, state text, error text, channel text, chain jsonb, hold int, due_in float,
    at timestamptz, read_at timestamptz, is_read bool, price int, is_owed bool, fallback_in float)
  LIMIT json_array_length(%(messages)s::json)) AS n
WHERE m.id = n.id AND m.id BETWEEN :first_id AND :last_id
RETURNING m.company_id, m.mode, (m.created_at AT TIME ZONE %(zone)s)::date AS day)
{stale_days}
