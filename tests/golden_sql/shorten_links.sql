INSERT INTO links_link (company_id, mode, expires_at, id, batch_id, slug, key, host_id, is_alias,
  url, utm, expired_url, is_once, dies_with_code, reuse_key)
SELECT %(company_id)s, %(mode)s::text, now() + make_interval(secs => n.lifetime), n.id, n.batch_id,
  n.slug, n.key, n.host_id, n.is_alias, n.url, n.utm, n.expired_url, n.is_once, n.dies_with_code,
  n.reuse_key
FROM unnest(%(link_id)s::uuid[], %(link_batch_id)s::uuid[], %(link_slug)s::text[],
  %(link_key)s::text[], %(link_host_id)s::bigint[], %(link_is_alias)s::bool[], %(link_url)s::text[],
  %(link_utm)s::text[], %(link_expired_url)s::text[], %(link_is_once)s::bool[],
  %(link_dies_with_code)s::bool[], %(link_reuse_key)s::uuid[], %(link_lifetime)s::float[]) WITH
  ORDINALITY AS n(id, batch_id, slug, key, host_id, is_alias, url, utm, expired_url, is_once,
  dies_with_code, reuse_key, lifetime, position)
ORDER BY n.key, n.position
ON CONFLICT DO NOTHING
RETURNING id, expires_at
