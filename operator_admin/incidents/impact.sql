-- Reads only the open messages of large tables. A code with less than a minute left will hardly be
-- entered in time.
--: waiting
SELECT m.channel, count(*) AS waiting,
  count(*) FILTER (WHERE m.created_at > now() - interval '30 seconds') AS under_30s,
  count(*) FILTER (WHERE m.created_at <= now() - interval '30 seconds'
    AND m.created_at > now() - interval '2 minutes') AS under_2min,
  count(*) FILTER (WHERE m.created_at <= now() - interval '2 minutes'
    AND m.created_at > now() - interval '10 minutes') AS under_10min,
  count(*) FILTER (WHERE m.created_at <= now() - interval '10 minutes') AS older,
  count(*) FILTER (WHERE m.kind = 'code' AND m.useful_until < now() + interval '1 minute')
    AS expiring,
  count(*) FILTER (WHERE m.chain <> '[]') AS with_fallback,
  count(DISTINCT m.company_id) AS companies,
  EXTRACT(epoch FROM now() - min(m.created_at))::float AS oldest
FROM channels_openmessage o JOIN channels_message m ON m.id = o.message_id
WHERE m.state = 'queued' AND m.mode = 'live' GROUP BY m.channel

-- Companies with the most waiting messages first; the primary key, ordered by time, bounds the
-- scan.
--: companies
WITH waiting AS (
  SELECT m.company_id, count(*) AS waiting, count(*) FILTER (WHERE m.chain <> '[]') AS with_fallback
  FROM channels_openmessage o JOIN channels_message m ON m.id = o.message_id
  WHERE m.state = 'queued' AND m.mode = 'live' AND m.channel = %(channel)s GROUP BY 1),
recent AS (
  SELECT company_id, count(*) AS sends,
    count(*) FILTER (WHERE state = 'delivered') AS delivered,
    count(*) FILTER (WHERE state IN ('delivered', 'failed', 'expired')) AS final
  FROM channels_message
  WHERE id >= %(since)s AND mode = 'live' AND channel = %(channel)s GROUP BY 1)
SELECT c.id, c.name, COALESCE(w.waiting, 0) AS waiting,
  COALESCE(w.with_fallback, 0) AS with_fallback, COALESCE(r.sends, 0) AS sends,
  COALESCE(r.delivered, 0) AS delivered, COALESCE(r.final, 0) AS final
FROM waiting w FULL JOIN recent r USING (company_id) JOIN accounts_company c ON c.id = company_id
ORDER BY waiting DESC, sends DESC, c.id LIMIT %(limit)s OFFSET %(offset)s
