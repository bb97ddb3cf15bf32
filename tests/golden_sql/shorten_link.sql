WITH payer AS (
  SELECT %(company_id)s::bigint AS company_id)
INSERT INTO links_link (company_id, mode, message_id, expires_at, id, batch_id, slug, key, host_id,
  is_alias, url, utm, expired_url, is_once, dies_with_code, reuse_key)
SELECT company_id, %(mode)s::text, NULL::uuid, now() + make_interval(secs =>
  %(link_lifetime)s::float), %(link_id)s::uuid, %(link_batch_id)s::uuid, %(link_slug)s::text,
  %(link_key)s::text, %(link_host_id)s::bigint, %(link_is_alias)s::bool, %(link_url)s::text,
  %(link_utm)s::text, %(link_expired_url)s::text, %(link_is_once)s::bool,
  %(link_dies_with_code)s::bool, %(link_reuse_key)s::uuid
FROM payer
RETURNING expires_at
