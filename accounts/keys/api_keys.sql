-- The columns of the row `company` that calls need; a package above registers one of them.
--: company_columns
company.id AS company_id,
CASE WHEN company.deleted_at IS NULL THEN company.status ELSE 'deleted' END AS status,
company.country, company.language, {texts} AS texts,
left(COALESCE(NULLIF(company.brand, ''), company.name), 30) AS brand,
CASE WHEN company.all_countries THEN '{}'
     WHEN company.allowed_countries = '{}' THEN ARRAY[company.country]
     ELSE company.allowed_countries END AS allowed_countries,
CASE WHEN company.falls_back THEN company.fallback_chain END AS fallback_chain,
company.default_channel, company.code_length, company.default_link_lifetime, company.api_rate,
company.patience, company.fallback_max_cost, company.policy, company.guard_mode,
company.guard_restrictions, company.budgets, company.link_host, company.link_targets,
company.link_utm, company.link_expired_url, company.cool_down, company.codes_per_10_min,
company.codes_per_hour, company.codes_per_day, company.links_per_10_min, company.links_per_day

-- Reads keys, and updates last_used_at at most once a minute, in one round trip. It skips keys that
-- somebody has locked, such as an operator in psql: no request waits for a lock.
--: read
WITH used AS (
  UPDATE accounts_apikey SET last_used_at = now() WHERE id = ANY(ARRAY(
    SELECT id FROM accounts_apikey WHERE digest = ANY(%(digests)s::bytea[]) AND revoked_at IS NULL
      AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')
    FOR NO KEY UPDATE SKIP LOCKED)))
SELECT api_key.digest, EXTRACT(epoch FROM api_key.expires_at - now())::float8 AS expires_in,
       api_key.id AS key_id, api_key.mode, api_key.scopes, member.role AS creator_role,
       api_key.allowed_ips, api_key.day_limit, api_key.purpose, {company_columns}
FROM accounts_apikey api_key JOIN accounts_company company ON company.id = api_key.company_id
LEFT JOIN accounts_member member ON member.company_id = api_key.company_id
  AND member.user_id = api_key.created_by_id
WHERE api_key.digest = ANY(%(digests)s::bytea[]) AND api_key.revoked_at IS NULL
  AND (api_key.expires_at IS NULL OR api_key.expires_at > now())

-- For a member who sends in the cabinet.
--: without_key
SELECT 0 AS key_id, %(mode)s::text AS mode, '{}'::text[] AS scopes, NULL AS creator_role,
       '{}'::text[] AS allowed_ips, NULL::bigint AS day_limit, '' AS purpose, {company_columns}
FROM accounts_company company WHERE company.id = %(company_id)s
