WITH found AS (
  SELECT l.reuse_key, l.id, l.slug, l.key, l.expires_at
  FROM links_link l
  WHERE l.company_id = %(company_id)s AND l.mode = %(mode)s::text AND l.reuse_key =
    ANY(%(link_reuse_key)s::uuid[]) AND l.reuse_key IS NOT NULL AND (l.disabled_at IS NULL AND
    (l.expires_at IS NULL OR l.expires_at > now()) AND NOT EXISTS (
      SELECT
      FROM links_stop s
      WHERE s.company_id = l.company_id AND s.batch_id = l.batch_id))),
dead AS (
  UPDATE links_link
  SET reuse_key = NULL
  WHERE id IN (
    SELECT l.id
    FROM links_link l
    WHERE l.company_id = %(company_id)s AND l.mode = %(mode)s::text AND l.reuse_key =
      ANY(%(link_reuse_key)s::uuid[]) AND l.reuse_key IS NOT NULL AND NOT (l.disabled_at IS NULL AND
      (l.expires_at IS NULL OR l.expires_at > now()) AND NOT EXISTS (
        SELECT
        FROM links_stop s
        WHERE s.company_id = l.company_id AND s.batch_id = l.batch_id))
    ORDER BY l.id FOR UPDATE)
  RETURNING id),
made AS (
  INSERT INTO links_link (company_id, mode, expires_at, id, batch_id, slug, key, host_id, is_alias,
    url, utm, expired_url, is_once, dies_with_code, reuse_key)
  SELECT %(company_id)s, %(mode)s::text, now() + make_interval(secs => n.lifetime), n.id,
    n.batch_id, n.slug, n.key, n.host_id, n.is_alias, n.url, n.utm, n.expired_url, n.is_once,
    n.dies_with_code, n.reuse_key
  FROM unnest(%(link_id)s::uuid[], %(link_batch_id)s::uuid[], %(link_slug)s::text[],
    %(link_key)s::text[], %(link_host_id)s::bigint[], %(link_is_alias)s::bool[],
    %(link_url)s::text[], %(link_utm)s::text[], %(link_expired_url)s::text[],
    %(link_is_once)s::bool[], %(link_dies_with_code)s::bool[], %(link_reuse_key)s::uuid[],
    %(link_lifetime)s::float[]) WITH ORDINALITY AS n(id, batch_id, slug, key, host_id, is_alias,
    url, utm, expired_url, is_once, dies_with_code, reuse_key, lifetime, position), (
    SELECT count(*)
    FROM dead) AS first
  WHERE NOT EXISTS (
    SELECT
    FROM found
    WHERE found.reuse_key = n.reuse_key)
  ORDER BY n.reuse_key
  ON CONFLICT (company_id, mode, reuse_key)
  WHERE reuse_key IS NOT NULL DO UPDATE
  SET reuse_key = EXCLUDED.reuse_key
  RETURNING reuse_key, id, slug, key, expires_at)
SELECT *
FROM found
UNION ALL SELECT *
FROM made
