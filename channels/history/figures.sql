-- Two results of one read: messages by day, channel and state; deliveries by duration.
WITH counted AS (
  SELECT day, channel, state, pace, messages FROM channels_daycount
  WHERE company_id = %(company_id)s AND mode = %(mode)s AND day >= %(first)s
    AND day < LEAST(%(live_day)s::date, %(until)s::date)
  UNION ALL
  SELECT (created_at AT TIME ZONE %(zone)s)::date, channel, state, {pace}, count(*)
  FROM channels_message
  WHERE company_id = %(company_id)s AND mode = %(mode)s AND created_at >= %(live_from)s
    AND created_at < %(live_until)s
  GROUP BY 1, 2, 3, 4)
SELECT day, channel, state, pace, sum(messages)::bigint AS messages FROM (
  SELECT *, day >= %(middle)s AS is_now FROM counted) AS every
GROUP BY GROUPING SETS ((day, channel, state), (is_now, channel, pace))
HAVING day IS NOT NULL OR (is_now AND pace > 0)
