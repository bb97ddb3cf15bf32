-- Generated messages: `generate` creates them, each other statement fills a table from them. Of 100
-- messages 60 use the first channel, 25 the second, 15 the third; 93 arrive, 4 fail, 3 expire.
-- `links` and `fallbacks` are also shares of 100.

--: generate: materialized, because otherwise an expression would be computed for each of its uses
CREATE TEMPORARY TABLE demo_message AS
WITH hashed AS MATERIALIZED (
  SELECT n, md5(%(seed)s::text || ' ' || n) AS h
  FROM generate_series(%(first)s::bigint, %(first)s::bigint + %(count)s - 1) AS n),
drawn AS MATERIALIZED (
  SELECT g, ('x' || substr(h, 1, 15))::bit(60)::bigint AS x,
    ('x' || substr(h, 16, 15))::bit(60)::bigint AS y,
    ('x' || substr(g, 1, 15))::bit(60)::bigint AS z
  FROM (SELECT h, md5(h) AS g FROM hashed OFFSET 0) AS twice),
placed AS MATERIALIZED (
  SELECT g, x, z, %(start)s::timestamptz + %(length)s::interval * (mod(y, 1000000000) / 1e9) AS at,
    1 + width_bucket(mod(y / 1000000000, 1000000) / 1e6::float8, %(weights)s::float8[]) AS place,
    mod(z / 100, 100) < %(fallbacks)s AS fell_back
  FROM drawn),
described AS MATERIALIZED (
  SELECT *,
    lpad(to_hex(floor(EXTRACT(epoch FROM at) * 1000)::bigint), 12, '0') || '7' AS stamp,
    CASE WHEN mod(z, 100) < %(links)s THEN 'link' ELSE 'code' END AS kind,
    mod(z, 100) < %(links)s * 3 / 2 AS has_link,
    mod(z / 1000000, 100) < %(links)s AS has_other_link,
    (%(channels)s::text[])[CASE WHEN fell_back THEN array_length(%(channels)s::text[], 1)
      ELSE 1 + width_bucket(mod(x, 100), %(shares)s::bigint[]) END] AS channel,
    CASE WHEN fell_back THEN (%(channels)s::text[])[1] END AS first_channel,
    CASE WHEN mod(x / 100, 100) < 93 THEN 'delivered' WHEN mod(x / 100, 100) < 97 THEN 'failed'
      ELSE 'expired' END AS state,
    make_interval(secs => 0.6 + mod(x / 10000, 1000) / 250.0
      + CASE WHEN mod(x, 100) < 85 THEN 0 ELSE 4 END) AS taken,
    mod(x / 100, 100) < 93 AND mod(x / 10000000, 100) < 84 AS is_correct,
    %(phone_prefix)s::text || lpad(mod(x / 1000000000, %(phones)s)::text, %(phone_digits)s, '0')
      AS whole_phone
  FROM placed)
SELECT at, kind, channel, first_channel, state, taken, has_other_link,
  kind = 'code' AND is_correct AS is_verified,
  CASE WHEN kind = 'link' THEN 'link' WHEN has_link THEN 'code_with_link' ELSE 'code' END
    AS content,
  CASE WHEN at < %(anonymised_before)s THEN left(whole_phone, 5) || '*' ELSE whole_phone END
    AS phone,
  (%(prices)s::int[])[array_position(%(channels)s::text[], channel)] AS price,
  (%(prices)s::int[])[array_position(%(channels)s::text[], first_channel)] AS first_price,
  CASE state WHEN 'expired' THEN interval '600 seconds' ELSE taken END AS took,
  CASE WHEN state = 'delivered' THEN mod(z / 10000, 3) ELSE 0 END AS clicks,
  CASE WHEN has_link THEN (stamp || substr(g, 13, 3) || '8' || substr(g, 5, 15))::uuid END
    AS link_id,
  (stamp || substr(g, 1, 3) || '8' || substr(g, 1, 15))::uuid AS id,
  (stamp || substr(g, 4, 3) || '8' || substr(g, 2, 15))::uuid AS code_id,
  (stamp || substr(g, 7, 3) || '8' || substr(g, 3, 15))::uuid AS attempt_id,
  (stamp || substr(g, 10, 3) || '8' || substr(g, 4, 15))::uuid AS first_attempt_id,
  (stamp || substr(g, 16, 3) || '8' || substr(g, 6, 15))::uuid AS other_link_id,
  (stamp || substr(g, 19, 3) || '8' || substr(g, 7, 15))::uuid AS event_id,
  'd' || substr(g, 2, 15) AS slug, 'd' || substr(g, 17, 15) AS other_slug,
  (%(company_ids)s::bigint[])[place] AS company_id, (%(key_ids)s::bigint[])[place] AS api_key_id,
  (%(endpoints)s::uuid[])[place] AS endpoint_id
FROM described ORDER BY at

--: verifications
INSERT INTO otp_verification
  (id, company_id, mode, phone, purpose, mac, key_id, length, attempts, max_attempts,
   created_at, expires_at, judged_at, verified_at, superseded_at, settled_at)
SELECT
  code_id, company_id, 'live', phone, 'demo', ''::bytea, %(key)s::text, 6, is_verified::int, 5,
  at, at + interval '300 seconds', CASE WHEN is_verified THEN at + taken * 3 END,
  CASE WHEN is_verified THEN at + taken * 3 END, at + interval '300 seconds',
  CASE WHEN is_verified THEN at + taken * 3 END
FROM demo_message
WHERE kind = 'code'

--: messages
INSERT INTO channels_message
  (id, company_id, api_key_id, mode, kind, content, channel, chain, phone, subject_id, params,
   locale, request_id, state, is_undelivered, error, tries, hold, price, segments, priority,
   created_at, due_at, useful_until, deadline, sent_at, delivered_at, finished_at)
SELECT
  id, company_id, api_key_id, 'live', kind, content, channel, '[]', phone,
  CASE kind WHEN 'link' THEN link_id ELSE code_id END,
  jsonb_strip_nulls(jsonb_build_object('key', %(key)s::text,
    'length', CASE kind WHEN 'code' THEN 6 END, 'text', CASE kind WHEN 'link' THEN '' END,
    'short_url', CASE WHEN link_id IS NOT NULL THEN %(short_url)s::text || '/' || slug END,
    'link', CASE kind WHEN 'code' THEN replace(link_id::text, '-', '') END)),
  'ru', 'req_' || left(replace(id::text, '-', ''), 12) || right(id::text, 10), state,
  state IN ('failed', 'expired'),
  CASE state WHEN 'failed' THEN 'recipient_unreachable' ELSE '' END,
  CASE WHEN first_channel IS NULL THEN 1 ELSE 2 END,
  CASE WHEN first_channel IS NULL THEN 1 ELSE 2 END, price, 1,
  CASE kind WHEN 'code' THEN 0 ELSE 1 END, at, NULL, at + interval '300 seconds',
  at + interval '600 seconds', CASE WHEN state <> 'failed' THEN at + taken / 2 END,
  CASE WHEN state = 'delivered' THEN at + taken END, at + took
FROM demo_message

--: first attempts
INSERT INTO channels_attempt
  (id, message_id, n, hold, price, channel, provider, provider_id, state, error_class,
   error_code, started_at, accepted_at, finished_at)
SELECT
  first_attempt_id, id, 1, 1, first_price, first_channel, 'test_' || first_channel, NULL,
  'failed', 'unreachable', '', at + taken / 10, NULL, at + taken / 4
FROM demo_message
WHERE first_channel IS NOT NULL

--: attempts
INSERT INTO channels_attempt
  (id, message_id, n, hold, price, channel, provider, provider_id, state, error_class,
   error_code, started_at, accepted_at, finished_at)
SELECT
  attempt_id, id, CASE WHEN first_channel IS NULL THEN 1 ELSE 2 END,
  CASE WHEN first_channel IS NULL THEN 1 ELSE 2 END, price, channel, 'test_' || channel,
  'past-' || attempt_id, state, CASE state WHEN 'failed' THEN 'unreachable' ELSE '' END, '',
  at + taken / 3, CASE WHEN state <> 'failed' THEN at + taken / 2 END, at + took
FROM demo_message

--: fallbacks
INSERT INTO channels_fallbackevent
  (message_id, reason, channel, at)
SELECT
  id, 'refused', channel, at + taken / 4
FROM demo_message
WHERE first_channel IS NOT NULL

--: receipts
INSERT INTO channels_receipt
  (provider, digest, provider_id, state, vendor_status, error_code, error_detail, at,
   received_at, due_at, applied_at, attempt_id, raw)
SELECT
  'test_' || channel, sha256(convert_to(attempt_id::text, 'UTF8')), 'past-' || attempt_id,
  'delivered', 'DELIVRD', '', '', at + took, at + took, NULL, at + took, attempt_id,
  convert_to(jsonb_build_object('id', 'past-' || attempt_id, 'status', 'DELIVRD',
    'at', at + took)::text, 'UTF8')
FROM demo_message
WHERE state = 'delivered' AND at >= %(raw_since)s

--: links
INSERT INTO links_link
  (id, company_id, mode, slug, key, is_alias, url, created_at, expires_at, message_id,
   clicked_at, clicks, first_click_at, last_click_at)
SELECT
  link_id, company_id, 'live', slug, slug, false,
  'https://example.com/orders/' || substr(id::text, 1, 13), at, at + interval '30 days', id,
  CASE WHEN clicks > 0 THEN at + taken * 5 END, clicks,
  CASE WHEN clicks > 0 THEN at + taken * 5 END, CASE WHEN clicks > 0 THEN at + taken * 5 END
FROM demo_message
WHERE link_id IS NOT NULL

--: other links
INSERT INTO links_link
  (id, company_id, mode, slug, key, is_alias, url, created_at, expires_at, message_id,
   clicked_at, clicks, first_click_at, last_click_at)
SELECT
  other_link_id, company_id, 'live', other_slug, other_slug, false,
  'https://example.com/orders/' || substr(id::text, 1, 13), at, NULL, NULL, NULL, clicks,
  CASE WHEN clicks > 0 THEN at + taken * 5 END, CASE WHEN clicks > 0 THEN at + taken * 5 END
FROM demo_message
WHERE has_other_link

--: click days
INSERT INTO links_clickday
  (link_id, day, clicks, previews, scanners)
SELECT
  link_id, (at AT TIME ZONE %(time_zone)s::text)::date, clicks, 0, 0
FROM demo_message
WHERE link_id IS NOT NULL AND clicks > 0

--: clicks
INSERT INTO links_click
  (link_id, at, kind, referrer, device, country)
SELECT
  link_id, at + taken * 5, 'person', '', 'android', 'RU'
FROM demo_message
WHERE link_id IS NOT NULL AND clicks > 0 AND at >= %(raw_since)s

--: events
INSERT INTO webhooks_event
  (id, company_id, mode, kind, key, data, at, created_at)
SELECT
  event_id, company_id, 'live', 'message.' || state, 'msg_' || replace(id::text, '-', ''),
  jsonb_build_object('id', 'msg_' || replace(id::text, '-', ''), 'kind', kind, 'phone', phone,
    'channel', channel, 'status', state, 'cost', price, 'test', false, 'created_at', at),
  at + took, at + took
FROM demo_message
WHERE endpoint_id IS NOT NULL AND at >= %(raw_since)s

--: deliveries
INSERT INTO webhooks_delivery
  (id, event_id, endpoint_id, state, tries, claims, due_at, round_at, created_at, finished_at)
SELECT
  gen_random_uuid(), event_id, endpoint_id, 'delivered', 1, 1, NULL, at + took, at + took,
  at + took * 2
FROM demo_message
WHERE endpoint_id IS NOT NULL AND at >= %(raw_since)s

--: idempotency keys
INSERT INTO api_idempotentrequest
  (company_id, mode, path, key, request_hash, subject_id, status, body, created_at)
SELECT
  company_id, 'live', CASE kind WHEN 'code' THEN 'otp/send' ELSE 'links/send' END, 'demo-' || id,
  sha256(convert_to(id::text, 'UTF8')), id, 200, '{"success": true, "id": "' || id || '"}', at
FROM demo_message
WHERE at >= now() - interval '1 day' AND endpoint_id IS NOT NULL

--: transfers: holds and their settlements; a fallback replaces the first hold by a second
SELECT demo_message.company_id, transfer.kind, transfer.amount, NULL AS key,
  demo_message.id AS message_id, transfer.hold, transfer.proof, transfer.reason,
  demo_message.at + transfer.since AS created_at
FROM demo_message CROSS JOIN LATERAL (VALUES
  ('hold', COALESCE(first_price, price), 1, '', '', interval '0'),
  (CASE WHEN first_channel IS NOT NULL THEN 'release' END, first_price, 1, '', 'refused',
   taken / 4),
  (CASE WHEN first_channel IS NOT NULL THEN 'hold' END, price, 2, '', '', taken / 4),
  (CASE state WHEN 'delivered' THEN 'capture' ELSE 'release' END, price,
   CASE WHEN first_channel IS NULL THEN 1 ELSE 2 END,
   CASE state WHEN 'delivered' THEN 'receipt' ELSE '' END,
   CASE state WHEN 'delivered' THEN '' ELSE state END, took))
  AS transfer(kind, amount, hold, proof, reason, since)
WHERE transfer.kind IS NOT NULL ORDER BY created_at, transfer.hold, transfer.kind DESC
