WITH allowed AS (
  SELECT
  WHERE NOT EXISTS (
    SELECT 1
    FROM channels_blockedphone
    WHERE phone = %(phone)s::text)),
payer AS (
  UPDATE billing_wallet w
  SET available = available - %(price)s, held = held + %(price)s, day = GREATEST(w.day, p.today),
    day_tokens = CASE WHEN w.day >= p.today THEN w.day_tokens ELSE 0 END + %(price)s, hour =
    GREATEST(w.hour, p.hour), hour_tokens = CASE WHEN w.hour >= p.hour THEN w.hour_tokens ELSE '{}'
    END || jsonb_build_object(%(country)s::text, CASE WHEN w.hour >= p.hour THEN
    COALESCE((w.hour_tokens->>%(country)s)::bigint, 0) ELSE 0 END + %(price)s), key_day =
    GREATEST(w.key_day, p.today), key_tokens = CASE WHEN w.key_day >= p.today THEN w.key_tokens ELSE
    '{}' END || jsonb_build_object(COALESCE(%(api_key_id)s::bigint, 0)::text, CASE WHEN w.key_day >=
    p.today THEN COALESCE((w.key_tokens->>COALESCE(%(api_key_id)s::bigint, 0)::text)::bigint, 0)
    ELSE 0 END + %(price)s)
  FROM (
    SELECT (now() AT TIME ZONE %(time_zone)s::text)::date AS today, date_trunc('hour', now()) AS
      hour) AS p
  WHERE company_id = %(company_id)s AND available >= %(price)s AND EXISTS (
    SELECT 1
    FROM allowed) AND CASE WHEN w.day >= p.today THEN w.day_tokens ELSE 0 END + %(price)s <=
      %(day_budget)s AND CASE WHEN w.hour >= p.hour THEN
      COALESCE((w.hour_tokens->>%(country)s)::bigint, 0) ELSE 0 END + %(price)s <= %(hour_budget)s
      AND CASE WHEN w.key_day >= p.today THEN
      COALESCE((w.key_tokens->>COALESCE(%(api_key_id)s::bigint, 0)::text)::bigint, 0) ELSE 0 END +
      %(price)s <= %(key_limit)s::bigint
  RETURNING company_id),
link AS (
  INSERT INTO links_link (company_id, mode, message_id, expires_at, id, batch_id, slug, key,
    host_id, is_alias, url, utm, expired_url, is_once, dies_with_code, reuse_key)
  SELECT company_id, %(mode)s::text, %(message_id)s::uuid, now() + make_interval(secs =>
    %(link_lifetime)s::float), %(link_id)s::uuid, %(link_batch_id)s::uuid, %(link_slug)s::text,
    %(link_key)s::text, %(link_host_id)s::bigint, %(link_is_alias)s::bool, %(link_url)s::text,
    %(link_utm)s::text, %(link_expired_url)s::text, %(link_is_once)s::bool,
    %(link_dies_with_code)s::bool, %(link_reuse_key)s::uuid
  FROM payer),
message AS (
  INSERT INTO channels_message ( id, company_id, api_key_id, mode, kind, content, channel, chain,
    phone, subject_id, params, locale, request_id, price, segments, priority, useful_until,
    deadline, fallback_at)
  SELECT %(message_id)s, payer.company_id, %(api_key_id)s, %(mode)s::text, %(kind)s::text,
    %(content)s::text, %(channel)s::text, %(chain)s::jsonb, %(phone)s::text, %(link_id)s,
    %(params)s::jsonb, %(locale)s::text, %(request_id)s::text, %(price)s, %(segments)s,
    %(priority)s, now() + make_interval(secs => %(hold_seconds)s), now() + make_interval(secs =>
    %(hold_seconds)s), now() + make_interval(secs => %(patience)s::float)
  FROM payer ),
hold AS (
  INSERT INTO billing_transfer (company_id, kind, amount, message_id, hold, proof, reason)
  SELECT company_id, 'hold', %(price)s, %(message_id)s, 1, '', ''
  FROM payer)
SELECT EXISTS (
  SELECT 1
  FROM payer) AS is_paid, NOT ( NOT EXISTS (
    SELECT 1
    FROM channels_blockedphone
    WHERE phone = %(phone)s::text)) AS is_blocked
