--: charged
WITH taken AS (
  SELECT 1000 * EXTRACT(epoch FROM transfer.created_at - message.created_at) AS ms
  FROM channels_message message
  LEFT JOIN billing_transfer transfer ON transfer.message_id = message.id
    AND transfer.kind = 'capture'
  WHERE message.phone BETWEEN %s AND %s)
SELECT count(*), count(ms), percentile_disc(0.5) WITHIN GROUP (ORDER BY ms),
  percentile_disc(0.99) WITHIN GROUP (ORDER BY ms)
FROM taken

--: accepted
SELECT phone, EXTRACT(epoch FROM created_at)::float8 FROM channels_message
WHERE phone BETWEEN %s AND %s

--: hanging
SELECT count(*) FROM channels_attempt
WHERE provider = 'twilio' AND started_at > now() - interval '1 minute'

--: opened
SELECT count(*) FROM channels_provideraccount
WHERE name = 'twilio' AND open_until IS NOT NULL
