WITH payer AS (
  SELECT %(company_id)s::bigint AS company_id)
INSERT INTO links_link (id, company_id, mode, slug, key, is_alias, url, expires_at, message_id,
  host_id, utm, expired_url, is_once, dies_with_code)
SELECT %(link_id)s, company_id, %(mode)s::text, %(slug)s::text, %(slug_key)s::text,
  %(is_alias)s::bool, %(url)s::text, now() + make_interval(secs => %(link_lifetime)s::float),
  NULL::uuid, %(host_id)s::bigint, %(utm)s::text, %(expired_url)s::text, %(is_once)s::bool,
  %(dies_with_code)s::bool
FROM payer
RETURNING expires_at
