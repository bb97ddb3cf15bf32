WITH standing AS (
  SELECT id, expires_at, attempts, max_attempts, key_id, length, verified_at
  FROM otp_verification
  WHERE company_id = %(company_id)s AND mode = %(mode)s::text AND phone = %(phone)s::text AND
    purpose = %(purpose)s::text AND superseded_at IS NULL AND id BETWEEN :first_id AND :last_id FOR
    NO KEY UPDATE),
cap AS (
  SELECT guesses
  FROM otp_guess_cap(%(company_id)s, %(mode)s::text, %(phone)s::text, %(failed_hour)s::int,
    %(failed_day)s::int, :first_id, :last_id)),
current AS (
  SELECT id, expires_at, attempts, max_attempts, key_id, length
  FROM standing
  WHERE verified_at IS NULL AND attempts < max_attempts AND key_id = ANY(%(key_ids)s::text[]) AND
    expires_at >= now() + make_interval(secs => %(resend_margin)s)),
allowed AS (
  SELECT
  FROM cap, (
    SELECT count(*)
    FROM standing) AS first
  WHERE NOT EXISTS (
    SELECT 1
    FROM channels_blockedphone
    WHERE phone = %(phone)s::text) AND guesses > 0),
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
superseded AS (
  UPDATE otp_verification
  SET superseded_at = now(), settled_at = CASE WHEN verified_at IS NULL AND expires_at <= now() THEN
    now() ELSE settled_at END
  WHERE company_id = %(company_id)s AND mode = %(mode)s::text AND phone = %(phone)s::text AND
    purpose = %(purpose)s::text AND superseded_at IS NULL AND id BETWEEN :first_id AND :last_id AND
    EXISTS (
    SELECT 1
    FROM payer) AND NOT EXISTS (
    SELECT 1
    FROM current)
  RETURNING id),
made AS (
  INSERT INTO otp_verification (id, company_id, mode, phone, purpose, mac, key_id, length,
    max_attempts, expires_at)
  SELECT %(verification_id)s, company_id, %(mode)s::text, %(phone)s::text, %(purpose)s::text,
    %(mac)s::bytea, %(key_id)s::text, %(length)s, %(max_attempts)s, now() + make_interval(secs =>
    %(lifetime)s)
  FROM payer, (
    SELECT count(*)
    FROM superseded) AS first
  WHERE NOT EXISTS (
    SELECT 1
    FROM current)
  RETURNING id, expires_at, attempts, max_attempts, key_id, length),
code AS (
  SELECT *
  FROM current
  UNION ALL SELECT *
  FROM made),
message AS (
  INSERT INTO channels_message ( id, company_id, api_key_id, mode, kind, content, channel, chain,
    phone, subject_id, params, locale, request_id, price, segments, priority, useful_until,
    deadline, fallback_at)
  SELECT %(message_id)s, payer.company_id, %(api_key_id)s, %(mode)s::text, %(kind)s::text,
    %(content)s::text, %(channel)s::text, %(chain)s::jsonb, %(phone)s::text, code.id,
    %(params)s::jsonb || jsonb_build_object('key', code.key_id, 'length', code.length, 'minutes',
    GREATEST(1, floor(EXTRACT(epoch
          FROM code.expires_at - now()) / 60))::int), %(locale)s::text, %(request_id)s::text,
            %(price)s, %(segments)s, %(priority)s, GREATEST(code.expires_at, now() +
            make_interval(secs => %(least_use)s)), now() + make_interval(secs => %(hold_seconds)s),
            now() + make_interval(secs => %(patience)s::float)
  FROM payer , code),
hold AS (
  INSERT INTO billing_transfer (company_id, kind, amount, message_id, hold, proof, reason)
  SELECT company_id, 'hold', %(price)s, %(message_id)s, 1, '', ''
  FROM payer),
link AS (
  INSERT INTO links_link (company_id, mode, message_id, expires_at, id, batch_id, slug, key,
    host_id, is_alias, url, utm, expired_url, is_once, dies_with_code, reuse_key)
  SELECT company_id, %(mode)s::text, %(message_id)s::uuid, now() + make_interval(secs =>
    %(link_lifetime)s::float), %(link_id)s::uuid, %(link_batch_id)s::uuid, %(link_slug)s::text,
    %(link_key)s::text, %(link_host_id)s::bigint, %(link_is_alias)s::bool, %(link_url)s::text,
    %(link_utm)s::text, %(link_expired_url)s::text, %(link_is_once)s::bool,
    %(link_dies_with_code)s::bool, %(link_reuse_key)s::uuid
  FROM payer),
idempotency_key AS (
  INSERT INTO api_idempotentrequest (company_id, mode, path, key, request_hash, subject_id)
  SELECT company_id, %(mode)s::text, %(idem_path)s::text, %(idem_key)s::text, %(idem_hash)s::bytea,
    %(message_id)s::uuid
  FROM payer)
SELECT EXISTS (
  SELECT 1
  FROM payer) AS is_paid, NOT ( NOT EXISTS (
    SELECT 1
    FROM channels_blockedphone
    WHERE phone = %(phone)s::text)) AS is_blocked, guesses = 0 AS is_capped, EXTRACT(epoch
  FROM code.expires_at - now())::float AS expires_in, LEAST(code.max_attempts - code.attempts,
    guesses) AS attempts_left
FROM cap
LEFT
JOIN code ON true
