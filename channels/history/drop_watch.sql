-- The delivered phones by company and channel, of the phones to which codes were sent in a time.
-- Ids begin with the time: the range is a few pages of the primary key's index.
SELECT company_id, channel, round(sum(share))::int AS delivered, count(*) AS ended
FROM (
  SELECT company_id, channel, avg((state = 'delivered')::int) AS share FROM channels_message
  WHERE id >= %s AND id < %s AND mode = 'live' AND kind = 'code' AND state = ANY(%s)
  GROUP BY company_id, channel, phone
) AS phones
GROUP BY company_id, channel HAVING count(*) >= %s
