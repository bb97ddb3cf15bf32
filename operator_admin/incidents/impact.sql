-- The waiting messages of each channel; of large tables it reads only the open messages. A code
-- with less than a minute left will hardly be entered in time.
--: waiting
SELECT message.channel, count(*) AS waiting,
  count(*) FILTER (WHERE message.created_at > now() - interval '30 seconds') AS under_30s,
  count(*) FILTER (WHERE message.created_at <= now() - interval '30 seconds'
    AND message.created_at > now() - interval '2 minutes') AS under_2min,
  count(*) FILTER (WHERE message.created_at <= now() - interval '2 minutes'
    AND message.created_at > now() - interval '10 minutes') AS under_10min,
  count(*) FILTER (WHERE message.created_at <= now() - interval '10 minutes') AS older,
  count(*) FILTER (WHERE message.kind = 'code'
    AND message.useful_until < now() + interval '1 minute')
    AS expiring,
  count(*) FILTER (WHERE message.chain <> '[]') AS with_fallback,
  count(DISTINCT message.company_id) AS companies,
  EXTRACT(epoch FROM now() - min(message.created_at))::float AS oldest
FROM channels_openmessage queued JOIN channels_message message ON message.id = queued.message_id
WHERE message.state = 'queued' AND message.mode = 'live' GROUP BY message.channel

-- Companies with the most waiting messages first; the primary key, ordered by time, bounds the
-- scan.
--: companies
WITH waiting AS (
  SELECT message.company_id, count(*) AS waiting,
    count(*) FILTER (WHERE message.chain <> '[]') AS with_fallback
  FROM channels_openmessage queued JOIN channels_message message ON message.id = queued.message_id
  WHERE message.state = 'queued' AND message.mode = 'live' AND message.channel = %(channel)s
  GROUP BY 1),
recent AS (
  SELECT company_id, count(*) AS sends,
    count(*) FILTER (WHERE state = 'delivered') AS delivered,
    count(*) FILTER (WHERE state IN ('delivered', 'failed', 'expired')) AS final
  FROM channels_message
  WHERE id >= %(since)s AND mode = 'live' AND channel = %(channel)s GROUP BY 1)
SELECT company.id, company.name, COALESCE(waiting.waiting, 0) AS waiting,
  COALESCE(waiting.with_fallback, 0) AS with_fallback, COALESCE(recent.sends, 0) AS sends,
  COALESCE(recent.delivered, 0) AS delivered, COALESCE(recent.final, 0) AS final
FROM waiting FULL JOIN recent USING (company_id) JOIN accounts_company company
  ON company.id = company_id
ORDER BY waiting DESC, sends DESC, company.id LIMIT %(limit)s OFFSET %(offset)s
