WITH used AS (
  UPDATE accounts_apikey
  SET last_used_at = now()
  WHERE id = ANY(ARRAY(
      SELECT id
      FROM accounts_apikey
      WHERE digest = ANY(%(digests)s::bytea[]) AND revoked_at IS NULL AND (last_used_at IS NULL OR
        last_used_at < now() - interval '1 minute') FOR NO KEY UPDATE SKIP LOCKED)))
SELECT k.digest, EXTRACT(epoch
  FROM k.expires_at - now())::float8 AS expires_in, k.id AS key_id, k.mode, k.scopes, m.role AS
    maker_role, k.allowed_ips, k.day_limit, c.id AS company_id, CASE WHEN c.deleted_at IS NULL THEN
    c.status ELSE 'deleted' END AS status, c.country, c.language, (
  SELECT jsonb_agg(jsonb_build_array(locale, purpose, channel, body))
  FROM (
    SELECT locale, purpose, channel, body
    FROM otp_codetext t
    WHERE t.company_id = c.id
    UNION ALL SELECT '', webotp_host, app_hash, ''
    FROM otp_autofill f
    WHERE f.company_id = c.id) AS own) AS texts, left(COALESCE(NULLIF(c.brand, ''), c.name), 30) AS
      brand, c.default_channel, c.code_length, CASE WHEN c.all_countries THEN '{}' WHEN
      c.allowed_countries = '{}' THEN ARRAY[c.country] ELSE c.allowed_countries END AS
      allowed_countries, c.default_link_lifetime, c.api_rate, CASE WHEN c.falls_back THEN
      c.fallback_chain END AS fallback_chain, c.patience, c.fallback_max_cost, c.policy,
      c.guard_mode, c.guard_restrictions, c.budgets, c.link_host, c.link_targets, c.link_utm,
      c.link_expired_url, c.cool_down, c.codes_per_10_min, c.codes_per_hour, c.codes_per_day,
      c.links_per_10_min, c.links_per_day
FROM accounts_apikey k
JOIN accounts_company c ON c.id = k.company_id
LEFT
JOIN accounts_member m ON m.company_id = k.company_id AND m.user_id = k.created_by_id
WHERE k.digest = ANY(%(digests)s::bytea[]) AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR
  k.expires_at > now())
