-- Clicks of a link by hour.
--: hours
SELECT date_trunc('hour', at) AS at, count(*) FILTER (WHERE kind = 'person') AS clicks,
  count(*) FILTER (WHERE {is_preview}) AS previews,
  count(*) FILTER (WHERE kind = 'scanner') AS scanners
FROM links_click WHERE link_id = %s AND at >= %s AND at < %s GROUP BY 1

-- People's clicks by referrer, device and country, in one pass; `GROUPING` is 0 for the column that
-- a row belongs to.
--: visitors
SELECT CASE WHEN GROUPING(referrer) = 0 THEN 'referrers'
            WHEN GROUPING(device) = 0 THEN 'devices' ELSE 'countries' END AS breakdown,
  COALESCE(referrer, device, country) COLLATE "C" AS name, count(*) AS clicks
FROM links_click WHERE link_id = %s AND kind = 'person' AND at >= %s AND at < %s
GROUP BY GROUPING SETS ((referrer), (device), (country)) ORDER BY clicks DESC, name
