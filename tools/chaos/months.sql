--: messages
INSERT INTO channels_message (id, company_id, mode, kind, content, channel, chain, phone,
  subject_id, params, locale, request_id, state, tries, price, priority, created_at, due_at,
  useful_until, deadline, sent_at, delivered_at, finished_at)
SELECT (left(uuid7_at(at)::text, 24) || lpad(to_hex(number), 12, '0'))::uuid, %(company)s, 'live',
  'code', 'code', 'sms', '[]', '+7916*', gen_random_uuid(), '{}', 'ru', '', 'delivered', 1, 16, 0,
  at, NULL, at, at, at, at, at
FROM generate_series(1, %(count)s) AS number, LATERAL (
  SELECT %(start)s::timestamptz
    + number * (%(end)s::timestamptz - %(start)s) / (%(count)s + 1) AS at
) AS made

--: attempts
INSERT INTO channels_attempt (id, message_id, n, hold, price, channel, provider, provider_id,
  state, started_at, accepted_at, finished_at)
SELECT gen_random_uuid(), id, 1, 1, 16, 'sms', 'smsc', id::text, 'delivered', created_at,
  created_at, created_at
FROM channels_message WHERE company_id = %(company)s AND created_at >= %(start)s

--: transfers
SELECT message.company_id, made.kind, 16 AS amount, NULL::text AS key, message.id AS message_id,
  1 AS hold, made.proof, '' AS reason, message.created_at + made.later AS created_at
FROM channels_message message,
  (VALUES ('hold', '', interval '0'), ('capture', 'receipt', interval '9 s'))
  AS made(kind, proof, later)
WHERE message.company_id = %(company)s AND message.created_at >= %(start)s
  AND message.created_at < %(end)s
