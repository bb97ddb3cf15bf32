-- Lock order: verification → link → message → attempt → inserts → wallet (docs/architecture.md). An
-- open message's row in the queue is written by triggers, under its message's lock.
-- `:first_id`, `:last_id`: the months to read, from `storage/months/recent_ids.py`.

-- Locks messages in the common order. A message's lock also protects its attempts: every writer of
-- their states takes it first. A join, so that each id is looked up in its own month.
--: lock
SELECT m.id FROM unnest(%s::uuid[]) AS wanted(id) JOIN channels_message m ON m.id = wanted.id
WHERE m.id BETWEEN :first_id AND :last_id
ORDER BY m.id FOR UPDATE OF m

--: lock_by_subjects
SELECT id FROM channels_message WHERE subject_id = ANY(%s) AND id BETWEEN :first_id AND :last_id
ORDER BY id FOR UPDATE

--: lock_open_by_phones
SELECT id FROM channels_message WHERE phone = ANY(%s) AND id BETWEEN :first_id AND :last_id
  AND state IN ('queued', 'sent')
ORDER BY id FOR UPDATE

-- Skips messages that others have locked; the next sweep sees them again.
--: lock_patience_expired
SELECT id FROM channels_message
WHERE id = ANY(%s) AND id BETWEEN :first_id AND :last_id AND fallback_at <= now()
  AND state IN ('queued', 'sent')
ORDER BY id FOR UPDATE SKIP LOCKED

-- Retries and fallbacks need useful time: these locked open messages have none left.
--: end_use
UPDATE channels_message SET useful_until = LEAST(useful_until, now())
WHERE id = ANY(%s) AND id BETWEEN :first_id AND :last_id AND state IN ('queued', 'sent')

-- The channels by which newer messages of the same subject were sent, are being sent or will be,
-- unless that failed.
--: channels_of_newer
SELECT v.id, unnest(ARRAY[n.channel, a.channel])
FROM unnest(%s::uuid[], %s::uuid[]) AS v(id, subject_id)
JOIN channels_message n ON n.subject_id = v.subject_id AND n.id > v.id
LEFT JOIN channels_attempt a
  ON a.message_id = n.id AND a.message_id BETWEEN :first_id AND :last_id
WHERE n.id BETWEEN :first_id AND :last_id AND n.state <> 'failed'

-- Messages with all their attempts. Read after the lock, so in the state of the last commit.
--: load
SELECT m.id, m.company_id, m.mode, m.kind, m.channel, m.chain, m.phone, m.state, m.error, m.tries,
  m.hold, m.price, EXTRACT(epoch FROM m.useful_until - now())::float AS time_left, m.subject_id,
  {has_subscribers} AS has_subscribers,
  EXTRACT(epoch FROM m.due_at - now())::float AS due_in, m.is_owed,
  m.api_key_id,
  a.id AS attempt_id, a.n AS attempt_n, a.hold AS attempt_hold, a.state AS attempt_state,
  a.provider AS attempt_provider, a.provider_id AS attempt_provider_id, a.polls AS attempt_polls,
  a.channel AS attempt_channel, a.price AS attempt_price, a.error_class AS attempt_error_class
FROM unnest(%s::uuid[]) AS wanted(id) JOIN channels_message m ON m.id = wanted.id
LEFT JOIN channels_attempt a
  ON a.message_id = m.id AND a.message_id BETWEEN :first_id AND :last_id
WHERE m.id BETWEEN :first_id AND :last_id ORDER BY m.id, a.n

-- A part of statements that change the messages of `changed`: marks the counts of earlier days
-- stale in the same commit.
--: stale_days
INSERT INTO channels_staleday (company_id, mode, day)
SELECT DISTINCT company_id, mode, day FROM changed WHERE day < (now() AT TIME ZONE %(zone)s)::date

-- A provider id that we choose is the same for every attempt of a message. The latest attempt takes
-- it over, because the vendor's receipts under that id refer to it.
--: take_over_provider_ids
UPDATE channels_attempt earlier SET provider_id = NULL
FROM unnest(%s::uuid[], %s::text[]) AS n(id, provider_id)
JOIN channels_attempt later ON later.id = n.id AND later.message_id BETWEEN :first_id AND :last_id
WHERE earlier.message_id = later.message_id AND earlier.message_id BETWEEN :first_id AND :last_id
  AND earlier.n < later.n
  AND earlier.provider = later.provider AND earlier.provider_id = n.provider_id

--: insert_fallback_events
INSERT INTO channels_fallbackevent (message_id, reason, channel)
SELECT * FROM unnest(%s::uuid[], %s::text[], %s::text[])

-- A part of a statement of `webhooks.events`: the event of a message's new state, with the fields
-- of GET /messages, without the code. {stored_texts}: the fields of `stored_fields`.
--: events
SELECT n.event_id AS id, m.company_id, m.mode, 'message.' || m.state AS kind,
  'msg_' || replace(m.id::text, '-', '') AS key, jsonb_build_object(
    'id', 'msg_' || replace(m.id::text, '-', ''), 'kind', m.kind, 'phone', m.phone,
    'channel', m.channel, 'status', m.state, 'error', NULLIF(m.error, ''), 'cost', m.price,
    'segments', CASE WHEN m.channel IN ({channels_with_segments}) THEN m.segments END,
    'short_url', m.params->'short_url', 'locale', m.locale, 'door', m.params->'door',
    {stored_texts}, 'metadata', m.params->'metadata',
    'test', m.mode = 'test', 'request_id', m.request_id,
    'created_at', {iso_created_at}, 'sent_at', {iso_sent_at},
    'delivered_at', {iso_delivered_at},
    'finished_at', {iso_finished_at}) AS data, now() AS at,
  m.params->'callback' AS callback
FROM channels_message m JOIN unnest(%s::uuid[], %s::uuid[]) AS n(id, event_id) ON m.id = n.id
WHERE m.id BETWEEN :first_id AND :last_id
