-- Sends a link: one statement, one commit, and nothing is written unless the wallet paid: every
-- insert reads from `paid`. `requested` and `message` are those of `otp/send/send.sql`.
--
-- Placeholders: {paid}: the CTE `paid` of `billing/wallet`, which charges the wallet and has the
-- paid row of `allowed`; {link}: the insert of the link, of `insert.sql`; {inserts}: the inserts of
-- a hold and an Idempotency-Key.
WITH requested AS NOT MATERIALIZED (
  SELECT %(message_id)s::uuid AS message_id,
    %(company_id)s::bigint AS company_id, %(api_key_id)s::bigint AS api_key_id,
    %(mode)s::text AS mode, %(kind)s::text AS kind, %(content)s::text AS content,
    %(channel)s::text AS channel, %(chain)s::jsonb AS chain, %(patience)s::float AS patience,
    %(phone)s::text AS phone, %(locale)s::text AS locale, %(request_id)s::text AS request_id,
    %(reference)s::text AS reference, %(price)s::bigint AS price, %(segments)s::int AS segments,
    %(priority)s::int AS priority, %(hold_seconds)s::float AS hold_seconds,
    %(country)s::text AS country, %(day_budget)s::bigint AS day_budget,
    %(hour_budget)s::bigint AS hour_budget, %(key_limit)s::bigint AS key_limit,
    %(idem_path)s::text AS idem_path, %(idem_key)s::text AS idem_key,
    %(idem_hash)s::bytea AS idem_hash, %(link_id)s::uuid AS subject_id,
    %(params)s::jsonb AS message_params,
    now() + make_interval(secs => LEAST(%(hold_seconds)s, %(link_lifetime)s::float))
      AS useful_until),
allowed AS (
  SELECT * FROM requested
  WHERE NOT EXISTS (
    SELECT FROM channels_blockedphone blocked WHERE blocked.phone = requested.phone)),
{paid},
link AS ({link}),
message AS (
  INSERT INTO channels_message (
    id, company_id, api_key_id, mode, kind, content, channel, chain, phone, subject_id, params,
    locale, request_id, reference, price, segments, priority, useful_until, deadline, fallback_at)
  SELECT message_id, company_id, api_key_id, mode, kind, content, channel, chain, phone,
    subject_id, message_params, locale, request_id, reference, price, segments, priority,
    useful_until, GREATEST(useful_until, now() + make_interval(secs => hold_seconds)),
    now() + make_interval(secs => patience)
  FROM paid){inserts}
SELECT EXISTS (SELECT FROM paid) AS is_paid, NOT EXISTS (SELECT FROM allowed) AS is_blocked
