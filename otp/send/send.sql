-- Sends codes: one statement, one commit. `requested` has a row per send: parameters for a single
-- send, which costs it 60 µs less than JSON, or JSON for a group. A single send waits for locks; a
-- group skips locked rows, and what it skips or refuses runs again as a single send.
--
-- A live code with time and attempts left is repeated, unless the send asks for another length or
-- is bound to something else; otherwise a new verification supersedes it.
-- A custom code, whose MACs are in `custom_macs`, is resent only if it is the live one.
-- Nothing is written unless the wallet paid: every insert reads from `paid`. The unique index on
-- the live row, not this statement, keeps parallel sends from making two live codes: the loser
-- retries.
--
-- Lock order: verification, wallet, inserts. `otp/sql.py` puts one of the first two parts before
-- `accept`, and fills in: {skip_locked}, {is_alone}; {paid}: the CTE `paid` of `billing/wallet`,
-- which charges the wallet and has the paid rows of `allowed`; {inserts}: the inserts of holds,
-- links, Idempotency-Keys and sealed codes.

--: one_send
WITH requested AS NOT MATERIALIZED (
  SELECT %(number)s::int AS number, %(message_id)s::uuid AS message_id,
    %(company_id)s::bigint AS company_id, %(api_key_id)s::bigint AS api_key_id,
    %(mode)s::text AS mode, %(kind)s::text AS kind, %(content)s::text AS content,
    %(channel)s::text AS channel, %(chain)s::jsonb AS chain, %(patience)s::float AS patience,
    %(phone)s::text AS phone, %(locale)s::text AS locale, %(request_id)s::text AS request_id,
    %(reference)s::text AS reference, %(price)s::bigint AS price, %(segments)s::int AS segments,
    %(priority)s::int AS priority, %(hold_seconds)s::float AS hold_seconds,
    %(country)s::text AS country, %(day_budget)s::bigint AS day_budget,
    %(hour_budget)s::bigint AS hour_budget, %(key_limit)s::bigint AS key_limit,
    %(idem_path)s::text AS idem_path, %(idem_key)s::text AS idem_key,
    %(idem_hash)s::bytea AS idem_hash, %(verification_id)s::uuid AS verification_id,
    %(purpose)s::text AS purpose, %(mac)s::bytea AS mac, %(key_id)s::text AS key_id,
    %(length)s::int AS length, %(requested_length)s::int AS requested_length,
    %(lifetime)s::int AS lifetime, %(binding)s::jsonb AS binding,
    %(custom_macs)s::bytea[] AS custom_macs, %(params)s::jsonb AS params),

--: several_sends
WITH requested AS MATERIALIZED (
  SELECT * FROM json_to_recordset(%(requested)s::json) AS given(
    number int, message_id uuid, company_id bigint, api_key_id bigint, mode text, kind text,
    content text, channel text, chain jsonb, patience float, phone text, locale text,
    request_id text, reference text, price bigint, segments int, priority int, hold_seconds float,
    country text, day_budget bigint, hour_budget bigint, key_limit bigint, idem_path text,
    idem_key text, idem_hash bytea,
    verification_id uuid, purpose text, mac bytea, key_id text, length int, requested_length int,
    lifetime int, binding jsonb, custom_macs bytea[], params jsonb)
  LIMIT json_array_length(%(requested)s::json)),

--: accept
live AS (  -- locked before the wallet, so it shows the last check's result
  SELECT requested.number, code.* FROM requested CROSS JOIN LATERAL (
    SELECT verification.id, verification.expires_at,
      verification.expires_at - verification.created_at AS life,
      verification.max_attempts - verification.attempts AS attempts_left, verification.key_id,
      verification.length,
      verification.verified_at IS NULL AND verification.attempts < verification.max_attempts
        AND verification.key_id = ANY(%(key_ids)s::text[])
        AND verification.expires_at >= now() + LEAST(
              make_interval(secs => %(resend_margin)s),
              (verification.expires_at - verification.created_at) / 2)
        AND verification.length = COALESCE(requested.requested_length, verification.length)
        AND verification.binding IS NOT DISTINCT FROM requested.binding
        AND CASE WHEN verification.is_custom THEN verification.mac = ANY(requested.custom_macs)
                 ELSE requested.custom_macs IS NULL END
        AS is_current
    FROM otp_verification verification
    WHERE verification.company_id = requested.company_id AND verification.mode = requested.mode
      AND verification.phone = requested.phone
      AND verification.purpose = requested.purpose AND verification.superseded_at IS NULL
      AND verification.id BETWEEN :first_id AND :last_id
    FOR NO KEY UPDATE {skip_locked}) AS code),
checked AS MATERIALIZED (  -- a concurrent check may lower the cap; `check.sql` counts exactly
  SELECT requested.*, cap.guesses, current_code.id IS NOT NULL AS is_current,
    COALESCE(current_code.id, requested.verification_id) AS subject_id,
    COALESCE(current_code.key_id, requested.key_id) AS code_key,
    COALESCE(current_code.length, requested.length) AS code_length,
    -- A code of a parallel send may be younger than this statement's time.
    COALESCE(LEAST(current_code.expires_at, now() + current_code.life),
             now() + make_interval(secs => requested.lifetime)) AS ends_at,
    LEAST(COALESCE(current_code.attempts_left, %(max_attempts)s), cap.guesses) AS attempts_left,
    EXISTS (
      SELECT FROM channels_blockedphone blocked
      WHERE blocked.phone = requested.phone OFFSET 0) AS is_blocked,
    {is_alone} OR (
      NOT EXISTS (  -- another transaction has locked its code
        SELECT FROM otp_verification verification
        WHERE verification.company_id = requested.company_id AND verification.mode = requested.mode
          AND verification.phone = requested.phone
          AND verification.purpose = requested.purpose AND verification.superseded_at IS NULL
          AND verification.id BETWEEN :first_id AND :last_id
          AND verification.id NOT IN (SELECT id FROM live)
        OFFSET 0)
      AND NOT EXISTS (  -- sent before: its insert would fail the whole group
        SELECT FROM api_idempotentrequest stored
        WHERE stored.company_id = requested.company_id AND stored.mode = requested.mode
          AND stored.path = requested.idem_path
          AND stored.key = requested.idem_key
        OFFSET 0)) AS is_free
  FROM requested
  LEFT JOIN LATERAL (
    SELECT * FROM live WHERE live.number = requested.number AND is_current LIMIT 1
  ) AS current_code ON true
  CROSS JOIN LATERAL otp_guess_cap(
    requested.company_id, requested.mode, requested.phone, %(failed_hour)s::int,
    %(failed_day)s::int, :first_id, :last_id) AS cap),
allowed AS NOT MATERIALIZED (
  SELECT *, params || jsonb_build_object('key', code_key, 'length', code_length, 'minutes',
      GREATEST(1, floor(EXTRACT(epoch FROM ends_at - now()) / 60))::int) AS message_params,
    GREATEST(ends_at, now() + make_interval(secs => %(least_use)s)) AS useful_until
  FROM checked WHERE NOT is_blocked AND guesses > 0 AND is_free),
{paid},
superseded AS (
  UPDATE otp_verification verification SET superseded_at = now(),
    -- An expired code needs no settlement.
    settled_at = CASE WHEN verification.verified_at IS NULL AND verification.expires_at <= now()
                      THEN now() ELSE verification.settled_at END
  FROM live
  WHERE verification.id = live.id AND verification.id BETWEEN :first_id AND :last_id
    AND live.number IN (SELECT number FROM paid WHERE NOT is_current)
  RETURNING verification.id),
new_verification AS (
  INSERT INTO otp_verification (id, company_id, mode, phone, purpose, mac, key_id, length,
                                max_attempts, expires_at, binding, is_custom)
  SELECT subject_id, company_id, mode, phone, purpose, mac, key_id, length, %(max_attempts)s,
    ends_at, binding, custom_macs IS NOT NULL
  FROM paid, (SELECT count(*) FROM superseded) AS first_step  -- read, so that it runs first
  WHERE NOT is_current),
message AS (
  INSERT INTO channels_message (
    id, company_id, api_key_id, mode, kind, content, channel, chain, phone, subject_id, params,
    locale, request_id, reference, price, segments, priority, useful_until, deadline, fallback_at)
  SELECT message_id, company_id, api_key_id, mode, kind, content, channel, chain, phone,
    subject_id, message_params, locale, request_id, reference, price, segments, priority,
    useful_until, GREATEST(useful_until, now() + make_interval(secs => hold_seconds)),
    now() + make_interval(secs => patience)
  FROM paid){inserts}
SELECT number, EXISTS (SELECT FROM paid WHERE paid.number = checked.number) AS is_paid,
  is_blocked, guesses = 0 AS is_capped, EXTRACT(epoch FROM ends_at - now())::float AS expires_in,
  attempts_left, subject_id AS verification_id
FROM checked
