WITH asked AS MATERIALIZED (
  SELECT *
  FROM (
    SELECT *
    FROM json_to_recordset(%(asked)s::json) AS n(number int, message_id uuid, company_id bigint,
      api_key_id bigint, mode text, kind text, content text, channel text, chain jsonb, patience
      float, phone text, locale text, request_id text, price bigint, segments int, priority int,
      hold_seconds float, country text, day_budget bigint, hour_budget bigint, key_limit bigint,
      idem_path text, idem_key text, idem_hash bytea, verification_id uuid, purpose text, mac bytea,
      key_id text, length int, params jsonb)
    LIMIT json_array_length(%(asked)s::json)) AS n),
standing AS (
  SELECT n.number, v.id, v.expires_at, v.attempts, v.max_attempts, v.key_id, v.length, v.verified_at
  FROM asked n
  JOIN otp_verification v ON v.company_id = n.company_id AND v.mode = n.mode AND v.phone = n.phone
    AND v.purpose = n.purpose AND v.superseded_at IS NULL AND v.id BETWEEN :first_id AND :last_id
    FOR NO KEY UPDATE OF v SKIP LOCKED),
allowed AS MATERIALIZED (
  SELECT n.*, cap.guesses, s.id AS standing_id, s.expires_at, s.attempts, s.max_attempts, s.key_id
    AS standing_key, s.length AS standing_length, COALESCE(s.verified_at IS NULL AND s.attempts <
    s.max_attempts AND s.key_id = ANY(%(key_ids)s::text[]) AND s.expires_at >= now() +
    make_interval(secs => %(resend_margin)s), false) AS is_current
  FROM asked n
  LEFT
  JOIN standing s USING (number)
  CROSS
  JOIN LATERAL otp_guess_cap( n.company_id, n.mode, n.phone, %(failed_hour)s::int,
    %(failed_day)s::int, :first_id, :last_id) AS cap
  WHERE NOT EXISTS (
    SELECT 1
    FROM channels_blockedphone
    WHERE phone = n.phone::text) AND cap.guesses > 0 AND (n.idem_key IS NULL OR NOT EXISTS (
      SELECT 1
      FROM api_idempotentrequest k
      WHERE k.company_id = n.company_id AND k.mode = n.mode AND k.path = n.idem_path AND k.key =
        n.idem_key)) AND NOT EXISTS (
    SELECT 1
    FROM otp_verification v
    WHERE v.company_id = n.company_id AND v.mode = n.mode AND v.phone = n.phone AND v.purpose =
      n.purpose AND v.superseded_at IS NULL AND v.id BETWEEN :first_id AND :last_id AND v.id IS
      DISTINCT
    FROM s.id)),
charged AS (
  UPDATE billing_wallet w
  SET available = w.available - bill.tokens, held = w.held + bill.tokens, day = GREATEST(w.day,
    p.today), day_tokens = CASE WHEN w.day >= p.today THEN w.day_tokens ELSE 0 END + bill.tokens,
    hour = GREATEST(w.hour, p.hour), hour_tokens = CASE WHEN w.hour >= p.hour THEN w.hour_tokens
    ELSE '{}' END || (
    SELECT jsonb_object_agg(c.key, CASE WHEN w.hour >= p.hour THEN
      COALESCE((w.hour_tokens->>c.key)::bigint, 0) ELSE 0 END + c.value::bigint)
    FROM jsonb_each_text(bill.hour_tokens) AS c), key_day = GREATEST(w.key_day, p.today), key_tokens
      = CASE WHEN w.key_day >= p.today THEN w.key_tokens ELSE '{}' END || (
    SELECT jsonb_object_agg(k.key, CASE WHEN w.key_day >= p.today THEN
      COALESCE((w.key_tokens->>k.key)::bigint, 0) ELSE 0 END + k.value::bigint)
    FROM jsonb_each_text(by_key.tokens) AS k)
  FROM (
    SELECT company_id, sum(tokens)::bigint AS tokens, min(day_budget) AS day_budget,
      jsonb_object_agg(country, tokens) AS hour_tokens, jsonb_object_agg(country, hour_budget) AS
      hour_budgets
    FROM (
      SELECT company_id, country, sum(price)::bigint AS tokens, min(day_budget) AS day_budget,
        min(hour_budget) AS hour_budget
      FROM allowed
      GROUP BY company_id, country) AS of_country
    GROUP BY company_id) AS bill
  JOIN (
    SELECT company_id, jsonb_object_agg(key, tokens) AS tokens, jsonb_object_agg(key, tokens_a_day)
      AS limits
    FROM (
      SELECT company_id, COALESCE(api_key_id, 0)::text AS key, sum(price)::bigint AS tokens,
        min(key_limit) AS tokens_a_day
      FROM allowed
      GROUP BY company_id, api_key_id) AS of_key
    GROUP BY company_id) AS by_key USING (company_id)
  JOIN (
    SELECT company_id
    FROM billing_wallet
    WHERE company_id IN (
      SELECT company_id
      FROM allowed) FOR UPDATE SKIP LOCKED) AS free USING (company_id)
  CROSS
  JOIN (
    SELECT (now() AT TIME ZONE %(time_zone)s::text)::date AS today, date_trunc('hour', now()) AS
      hour) AS p
  WHERE w.company_id = bill.company_id AND w.available >= bill.tokens AND CASE WHEN w.day >= p.today
    THEN w.day_tokens ELSE 0 END + bill.tokens <= bill.day_budget AND NOT EXISTS (
    SELECT 1
    FROM jsonb_each_text(bill.hour_tokens) AS c
    WHERE CASE WHEN w.hour >= p.hour THEN COALESCE((w.hour_tokens->>c.key)::bigint, 0) ELSE 0 END +
      c.value::bigint > (bill.hour_budgets->>c.key)::bigint) AND NOT EXISTS (
    SELECT 1
    FROM jsonb_each_text(by_key.tokens) AS k
    WHERE CASE WHEN w.key_day >= p.today THEN COALESCE((w.key_tokens->>k.key)::bigint, 0) ELSE 0 END
      + k.value::bigint > (by_key.limits->>k.key)::bigint)
  RETURNING w.company_id),
payer AS MATERIALIZED (
  SELECT a.*, CASE WHEN is_current THEN standing_id ELSE verification_id END AS subject_id, CASE
    WHEN is_current THEN standing_key ELSE key_id END AS code_key, CASE WHEN is_current THEN
    standing_length ELSE length END AS code_length, CASE WHEN is_current THEN expires_at ELSE now()
    + make_interval(secs => %(lifetime)s) END AS ends_at, LEAST(CASE WHEN is_current THEN
    max_attempts - attempts ELSE %(max_attempts)s END, guesses) AS attempts_left
  FROM allowed a
  JOIN charged USING (company_id)),
superseded AS (
  UPDATE otp_verification v
  SET superseded_at = now(), settled_at = CASE WHEN v.verified_at IS NULL AND v.expires_at <= now()
    THEN now() ELSE v.settled_at END
  FROM payer
  WHERE v.id = payer.standing_id AND NOT payer.is_current AND v.id BETWEEN :first_id AND :last_id
  RETURNING v.id),
made AS (
  INSERT INTO otp_verification (id, company_id, mode, phone, purpose, mac, key_id, length,
    max_attempts, expires_at)
  SELECT verification_id, company_id, mode, phone, purpose, mac, key_id, length, %(max_attempts)s,
    ends_at
  FROM payer, (
    SELECT count(*)
    FROM superseded) AS first
  WHERE NOT is_current),
message AS (
  INSERT INTO channels_message ( id, company_id, api_key_id, mode, kind, content, channel, chain,
    phone, subject_id, params, locale, request_id, price, segments, priority, useful_until,
    deadline, fallback_at)
  SELECT payer.message_id, payer.company_id, payer.api_key_id, payer.mode::text, payer.kind::text,
    payer.content::text, payer.channel::text, payer.chain::jsonb, payer.phone::text,
    payer.subject_id, payer.params || jsonb_build_object('key', payer.code_key, 'length',
    payer.code_length, 'minutes', GREATEST(1, floor(EXTRACT(epoch
          FROM payer.ends_at - now()) / 60))::int), payer.locale::text, payer.request_id::text,
            payer.price, payer.segments, payer.priority, payer.ends_at, now() + make_interval(secs
            => payer.hold_seconds), now() + make_interval(secs => payer.patience::float)
  FROM payer ),
hold AS (
  INSERT INTO billing_transfer (company_id, kind, amount, message_id, hold, proof, reason)
  SELECT company_id, 'hold', payer.price, payer.message_id, 1, '', ''
  FROM payer),
idempotency_key AS (
  INSERT INTO api_idempotentrequest (company_id, mode, path, key, request_hash, subject_id)
  SELECT company_id, payer.mode::text, payer.idem_path::text, payer.idem_key::text,
    payer.idem_hash::bytea, payer.message_id::uuid
  FROM payer
  WHERE idem_key IS NOT NULL)
SELECT number, EXTRACT(epoch
  FROM ends_at - now())::float AS expires_in, attempts_left
FROM payer
