WITH found AS (
  SELECT l.reuse_key, l.id, l.slug, l.key, l.expires_at
  FROM links_link l
  WHERE l.company_id = %(company_id)s AND l.mode = %(mode)s::text AND l.reuse_key =
    ANY(%(reuse_key)s::uuid[]) AND l.reuse_key IS NOT NULL AND (l.disabled_at IS NULL AND
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
      ANY(%(reuse_key)s::uuid[]) AND l.reuse_key IS NOT NULL AND NOT (l.disabled_at IS NULL AND
      (l.expires_at IS NULL OR l.expires_at > now()) AND NOT EXISTS (
        SELECT
        FROM links_stop s
        WHERE s.company_id = l.company_id AND s.batch_id = l.batch_id))
    ORDER BY l.id FOR UPDATE)
  RETURNING id),
made AS (
  INSERT INTO links_link (id, company_id, mode, slug, key, is_alias, url, expires_at, host_id, utm,
    expired_url, batch_id, reuse_key)
  SELECT n.id, %(company_id)s, %(mode)s::text, n.slug, n.key, false, n.url, now() +
    make_interval(secs => n.lifetime), n.host_id, n.utm, n.expired_url, %(batch_id)s::uuid,
    n.reuse_key
  FROM unnest(%(link_id)s::uuid[], %(slug)s::text[], %(slug_key)s::text[], %(url)s::text[],
    %(link_lifetime)s::float[], %(host_id)s::bigint[], %(utm)s::text[], %(expired_url)s::text[],
    %(reuse_key)s::uuid[]) AS n(id, slug, key, url, lifetime, host_id, utm, expired_url, reuse_key),
    (
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
