-- Lock order: verification → link → message → attempt → inserts → wallet (docs/architecture.md). An
-- open message's row in the queue is written by triggers, under its message's lock.
-- `:first_id`, `:last_id`: the months to read, from `storage/months/recent_ids.py`.

-- Locks messages in the common order. A message's lock also protects its attempts: every writer of
-- their states takes it first. A join, so that each id is looked up in its own month.
--: lock
SELECT message.id
FROM unnest(%s::uuid[]) AS wanted(id) JOIN channels_message message ON message.id = wanted.id
WHERE message.id BETWEEN :first_id AND :last_id
ORDER BY message.id FOR UPDATE OF message

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
-- unless that failed; and whether that message is delivered.
--: channels_of_newer
SELECT wanted.id, unnest(ARRAY[newer.channel, attempt.channel]), newer.state = 'delivered'
FROM unnest(%s::uuid[], %s::uuid[]) AS wanted(id, subject_id)
JOIN channels_message newer ON newer.subject_id = wanted.subject_id AND newer.id > wanted.id
LEFT JOIN channels_attempt attempt
  ON attempt.message_id = newer.id AND attempt.message_id BETWEEN :first_id AND :last_id
WHERE newer.id BETWEEN :first_id AND :last_id AND newer.state <> 'failed'

-- Messages with all their attempts. Read after the lock, so in the state of the last commit.
--: load
SELECT message.id, message.company_id, message.mode, message.kind, message.channel, message.chain,
  message.phone, message.state, message.error, message.tries, message.hold, message.price,
  message.subject_id, message.is_owed, message.api_key_id, {has_subscribers} AS has_subscribers,
  EXTRACT(epoch FROM message.useful_until - now())::float AS time_left,
  EXTRACT(epoch FROM message.due_at - now())::float AS due_in,
  attempt.id AS attempt_id, attempt.n AS attempt_n, attempt.hold AS attempt_hold,
  attempt.state AS attempt_state, attempt.provider AS attempt_provider,
  attempt.provider_id AS attempt_provider_id, attempt.polls AS attempt_polls,
  attempt.channel AS attempt_channel, attempt.price AS attempt_price,
  attempt.error_class AS attempt_error_class
FROM unnest(%s::uuid[]) AS wanted(id) JOIN channels_message message ON message.id = wanted.id
LEFT JOIN channels_attempt attempt
  ON attempt.message_id = message.id AND attempt.message_id BETWEEN :first_id AND :last_id
WHERE message.id BETWEEN :first_id AND :last_id ORDER BY message.id, attempt.n

-- A part of statements that change the messages of `changed`: marks the counts of earlier days
-- stale in the same commit.
--: stale_days
INSERT INTO channels_staleday (company_id, mode, day)
SELECT DISTINCT company_id, mode, day FROM changed WHERE day < (now() AT TIME ZONE %(zone)s)::date

-- A provider id that we choose is the same for every attempt of a message. The latest attempt takes
-- it over, because the vendor's receipts under that id refer to it.
--: take_over_provider_ids
UPDATE channels_attempt earlier SET provider_id = NULL
FROM unnest(%s::uuid[], %s::text[]) AS given(id, provider_id)
JOIN channels_attempt later ON later.id = given.id
  AND later.message_id BETWEEN :first_id AND :last_id
WHERE earlier.message_id = later.message_id AND earlier.message_id BETWEEN :first_id AND :last_id
  AND earlier.n < later.n
  AND earlier.provider = later.provider AND earlier.provider_id = given.provider_id

--: insert_fallback_events
INSERT INTO channels_fallbackevent (message_id, reason, channel)
SELECT * FROM unnest(%s::uuid[], %s::text[], %s::text[])

-- A part of a statement of `webhooks.events`: the event of a message's new state, with the fields
-- of GET /messages, without the code. {stored_texts}: the fields of `stored_fields`.
--: events
SELECT given.event_id AS id, message.company_id, message.mode, 'message.' || message.state AS kind,
  {public_id} AS key, jsonb_build_object(
    'id', {public_id}, 'kind', message.kind, 'phone', message.phone, 'channel', message.channel,
    'status', message.state, 'error', NULLIF(message.error, ''), 'cost', message.price,
    'segments', CASE WHEN message.channel IN ({channels_with_segments}) THEN message.segments END,
    'short_url', message.params->'short_url', 'locale', message.locale,
    'door', message.params->'door', {stored_texts}, 'metadata', message.params->'metadata',
    'test', message.mode = 'test', 'request_id', message.request_id,
    'created_at', {iso_created_at}, 'sent_at', {iso_sent_at},
    'delivered_at', {iso_delivered_at}, 'finished_at', {iso_finished_at}) AS data, now() AS at,
  message.params->'callback' AS callback
FROM channels_message message JOIN unnest(%s::uuid[], %s::uuid[]) AS given(id, event_id)
  ON message.id = given.id
WHERE message.id BETWEEN :first_id AND :last_id
