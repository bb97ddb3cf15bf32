-- The columns of the company's row `c` that calls need; a package above registers one of them.
--: company_columns
c.id AS company_id,
CASE WHEN c.deleted_at IS NULL THEN c.status ELSE 'deleted' END AS status,
c.country, c.language, {texts} AS texts,
left(COALESCE(NULLIF(c.brand, ''), c.name), 30) AS brand, c.default_channel, c.code_length,
CASE WHEN c.all_countries THEN '{}' WHEN c.allowed_countries = '{}' THEN ARRAY[c.country]
     ELSE c.allowed_countries END AS allowed_countries, c.default_link_lifetime, c.api_rate,
CASE WHEN c.falls_back THEN c.fallback_chain END AS fallback_chain,
c.patience, c.fallback_max_cost, c.policy, c.guard_mode, c.guard_restrictions,
c.budgets, c.link_host, c.link_targets, c.link_utm, c.link_expired_url,
c.cool_down, c.codes_per_10_min, c.codes_per_hour, c.codes_per_day,
c.links_per_10_min, c.links_per_day

-- Reads keys, and updates last_used_at at most once a minute, in one round trip. It skips keys that
-- somebody has locked, such as an operator in psql: no request waits for a lock.
--: read
WITH used AS (
  UPDATE accounts_apikey SET last_used_at = now() WHERE id = ANY(ARRAY(
    SELECT id FROM accounts_apikey WHERE digest = ANY(%(digests)s::bytea[]) AND revoked_at IS NULL
      AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')
    FOR NO KEY UPDATE SKIP LOCKED)))
SELECT k.digest, EXTRACT(epoch FROM k.expires_at - now())::float8 AS expires_in,
       k.id AS key_id, k.mode, k.scopes, m.role AS maker_role, k.allowed_ips, k.day_limit,
       k.purpose, {company_columns}
FROM accounts_apikey k JOIN accounts_company c ON c.id = k.company_id
LEFT JOIN accounts_member m ON m.company_id = k.company_id AND m.user_id = k.created_by_id
WHERE k.digest = ANY(%(digests)s::bytea[]) AND k.revoked_at IS NULL
  AND (k.expires_at IS NULL OR k.expires_at > now())

-- For a member who sends in the cabinet.
--: without_key
SELECT 0 AS key_id, %(mode)s::text AS mode, '{}'::text[] AS scopes, NULL AS maker_role,
       '{}'::text[] AS allowed_ips, NULL::bigint AS day_limit, '' AS purpose, {company_columns}
FROM accounts_company c WHERE c.id = %(company_id)s
