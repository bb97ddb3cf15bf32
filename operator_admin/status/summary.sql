-- Counts a day of every channel. One without messages gets a row too, which marks the day as
-- counted. The median is weighted by messages.
--: count
INSERT INTO operator_admin_statusday
  (component, day, total, good, companies, largest, median_ms, counted_at)
WITH ended AS (
  SELECT channel, company_id, pace, state, messages FROM channels_daycount
  WHERE day = %(day)s AND mode = 'live' AND state IN ('delivered', 'failed', 'expired')),
of_company AS (
  SELECT channel, company_id, sum(messages) AS total,
    sum(messages) FILTER (WHERE state = 'delivered') AS good
  FROM ended GROUP BY 1, 2),
paces AS (
  SELECT channel, pace, sum(messages) AS messages FROM ended WHERE pace > 0 GROUP BY 1, 2),
ranked AS (
  SELECT channel, pace, sum(messages) OVER (PARTITION BY channel ORDER BY pace) AS running,
    sum(messages) OVER (PARTITION BY channel) AS total FROM paces),
medians AS (
  SELECT channel, min(pace) FILTER (WHERE running * 2 >= total) AS median FROM ranked GROUP BY 1)
SELECT component.name, %(day)s, COALESCE(sum(of_company.total), 0),
  COALESCE(sum(of_company.good), 0), count(of_company.company_id),
  COALESCE(max(of_company.total), 0), max(medians.median), now()
FROM unnest(%(channels)s::text[]) AS component(name)
LEFT JOIN of_company ON of_company.channel = component.name
LEFT JOIN medians ON medians.channel = component.name
GROUP BY component.name
ON CONFLICT (day, component) DO UPDATE SET total = excluded.total, good = excluded.good,
  companies = excluded.companies, largest = excluded.largest, median_ms = excluded.median_ms,
  counted_at = excluded.counted_at

-- Counts a minute of the API once, however often the task runs: the row has the last counted one.
--: measure
INSERT INTO operator_admin_statusday AS measured
  (component, day, total, good, companies, largest, counted_at)
VALUES (%(component)s, %(day)s, 1, %(alive)s, 0, 0, date_trunc('minute', now()))
ON CONFLICT (day, component) DO UPDATE SET total = measured.total + 1,
  good = measured.good + excluded.good, counted_at = excluded.counted_at
WHERE measured.counted_at < excluded.counted_at
