-- Counts clicks. Links are locked in one order, and each is written once for all of its clicks.
WITH received AS (SELECT * FROM {clicks}),
locked AS (
  SELECT id FROM links_link WHERE id IN (SELECT link_id FROM received)
  ORDER BY id FOR NO KEY UPDATE),
stored AS (
  INSERT INTO links_click (link_id, at, kind, referrer, device, country)
  SELECT received.link_id, to_timestamp(received.millis / 1000), received.kind, received.referrer,
    received.device, received.country
  FROM received JOIN locked ON locked.id = received.link_id
  RETURNING link_id, at, kind),
days AS (
  INSERT INTO links_clickday AS click_day (link_id, day, clicks, previews, scanners)
  SELECT link_id, (at AT TIME ZONE %(zone)s)::date,
    count(*) FILTER (WHERE kind = 'person'),
    count(*) FILTER (WHERE {is_preview}),
    count(*) FILTER (WHERE kind = 'scanner')
  FROM stored GROUP BY 1, 2 ORDER BY 1, 2
  ON CONFLICT (link_id, day) DO UPDATE SET clicks = click_day.clicks + excluded.clicks,
    previews = click_day.previews + excluded.previews,
    scanners = click_day.scanners + excluded.scanners)
UPDATE links_link link SET clicks = link.clicks + counts.clicks,
  previews = link.previews + counts.previews,
  scanners = link.scanners + counts.scanners,
  first_click_at = LEAST(link.first_click_at, counts.first_at),
  last_click_at = GREATEST(link.last_click_at, counts.last_at)
FROM (
  SELECT link_id, count(*) FILTER (WHERE kind = 'person') AS clicks,
    count(*) FILTER (WHERE {is_preview}) AS previews,
    count(*) FILTER (WHERE kind = 'scanner') AS scanners,
    min(at) FILTER (WHERE kind = 'person') AS first_at,
    max(at) FILTER (WHERE kind = 'person') AS last_at
  FROM stored GROUP BY 1) counts
WHERE link.id = counts.link_id
