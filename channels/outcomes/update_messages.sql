-- Writes decided states of messages, which are locked. Vendors' clocks are wrong or have whole
-- seconds: clamps each time between the one it follows and now. {stale_days} marks their day's
-- counts stale.
WITH changed AS (
UPDATE channels_message message SET
  state = given.state, is_undelivered = given.state IN ('failed', 'expired'), error = given.error,
  channel = given.channel, chain = given.chain, hold = given.hold,
  price = given.price, is_owed = given.is_owed,
  fallback_at = CASE WHEN given.chain = '[]' OR given.state NOT IN ('queued', 'sent') THEN NULL
                     WHEN given.fallback_in IS NULL THEN message.fallback_at
                     ELSE now() + make_interval(secs => given.fallback_in) END,
  due_at = now() + make_interval(secs => given.due_in),
  sent_at = CASE WHEN given.state IN ('sent', 'delivered')
                 THEN COALESCE(message.sent_at,
                   GREATEST(message.created_at, LEAST(given.at, now())))
                 ELSE message.sent_at END,
  delivered_at = CASE WHEN given.state = 'delivered'
                      THEN COALESCE(message.delivered_at,
                        GREATEST(message.created_at, message.sent_at, LEAST(given.at, now()))) END,
  read_at = CASE WHEN given.is_read
                 THEN COALESCE(message.read_at,
                   GREATEST(message.created_at, message.sent_at, message.delivered_at,
                     LEAST(given.read_at, now())))
                 ELSE message.read_at END,
  finished_at = CASE WHEN given.state IN ('delivered', 'failed', 'expired')
                     THEN COALESCE(message.finished_at, now()) END
FROM (
  SELECT * FROM json_to_recordset(%(messages)s::json) AS given(
    id uuid, state text, error text, channel text, chain jsonb, hold int, due_in float,
    at timestamptz, read_at timestamptz, is_read bool, price int, is_owed bool, fallback_in float)
  LIMIT json_array_length(%(messages)s::json)) AS given
WHERE message.id = given.id AND message.id BETWEEN :first_id AND :last_id
RETURNING message.company_id, message.mode, (message.created_at AT TIME ZONE %(zone)s)::date AS day)
{stale_days}
