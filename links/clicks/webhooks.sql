-- A part of a statement of `webhooks.events`. `clicks` is the link's total. The counter reads the
-- stream separately: batches that it has not counted yet are added.
--: events
SELECT n.event_id AS id, l.company_id, l.mode, 'link.clicked' AS kind, n.key,
  jsonb_build_object(
    'id', 'lnk_' || replace(l.id::text, '-', ''),
    'short_url', COALESCE(%(scheme)s::text || h.host, %(base)s::text) || '/' || l.slug,
    'url', l.url, 'new_clicks', n.clicks,
    'clicks', l.clicks + COALESCE(sum(n.clicks) FILTER (WHERE b.id IS NULL)
      OVER (PARTITION BY n.link_id ORDER BY n.at, n.event_id ROWS UNBOUNDED PRECEDING), 0),
    'clicked_at', {iso_clicked_at},
    'test', l.mode = 'test') AS data, to_timestamp(n.at) AS at
FROM unnest(%(event_id)s::uuid[], %(link_id)s::uuid[], %(batch_id)s::uuid[], %(key)s::text[],
            %(clicks)s::int[], %(at)s::float[])
  AS n(event_id, link_id, batch_id, key, clicks, at)
JOIN links_link l ON l.id = n.link_id AND (l.mode <> 'test' OR l.clicks < %(max_test_clicks)s)
LEFT JOIN links_clickbatch b ON b.id = n.batch_id
LEFT JOIN links_shorthost h ON h.id = l.host_id

-- Test links whose company has a webhook endpoint.
--: companies_of_test_links
SELECT l.id, l.company_id FROM links_link l
WHERE l.id = ANY(%s::uuid[]) AND l.mode = 'test' AND l.clicks < %s
  AND {has_subscribers}
