-- A part of a statement of `webhooks.events`. `clicks` is the link's total. The counter reads the
-- stream separately: batches that it has not counted yet are added.
--: events
SELECT given.event_id AS id, link.company_id, link.mode, 'link.clicked' AS kind, given.key,
  jsonb_build_object(
    'id', {public_id},
    'short_url', COALESCE(%(scheme)s::text || short_host.host, %(base)s::text) || '/' || link.slug,
    'url', link.url, 'new_clicks', given.clicks,
    'clicks', link.clicks + COALESCE(sum(given.clicks) FILTER (WHERE batch.id IS NULL)
      OVER (PARTITION BY given.link_id ORDER BY given.at, given.event_id
            ROWS UNBOUNDED PRECEDING), 0),
    'clicked_at', {iso_clicked_at},
    'test', link.mode = 'test') AS data, to_timestamp(given.at) AS at
FROM unnest(%(event_id)s::uuid[], %(link_id)s::uuid[], %(batch_id)s::uuid[], %(key)s::text[],
            %(clicks)s::int[], %(at)s::float[])
  AS given(event_id, link_id, batch_id, key, clicks, at)
JOIN links_link link ON link.id = given.link_id
  AND (link.mode <> 'test' OR link.clicks < %(max_test_clicks)s)
LEFT JOIN links_clickbatch batch ON batch.id = given.batch_id
LEFT JOIN links_shorthost short_host ON short_host.id = link.host_id

-- Test links whose company has a webhook endpoint.
--: companies_of_test_links
SELECT link.id, link.company_id FROM links_link link
WHERE link.id = ANY(%s::uuid[]) AND link.mode = 'test' AND link.clicks < %s
  AND {has_subscribers}
