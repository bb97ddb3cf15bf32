-- Finds the attempt of each message that a vendor has:
-- 1. by our reference, which Twilio keeps in its callback's address; the bot and a message centre
--    have none;
-- 2. by the vendor's name of the message, the bot's with the chat in it;
-- 3. by the link, which is in one message only;
-- 4. by the code, for attempts whose answer was lost. A resent code is the same, so the first
--    message to come belongs to the first attempt.

--: schema
DROP TABLE IF EXISTS pg_temp.phone_message, pg_temp.client_order, pg_temp.client_call,
  pg_temp.client_entry, pg_temp.unnamed_code;
CREATE TEMP TABLE phone_message (
  id bigint, provider text, provider_id text, ref uuid, phone text, links text[], code text,
  state text,
  faults text[], is_told boolean, attempt_id uuid, message_id uuid,
  has_arrived boolean GENERATED ALWAYS AS (state IN ('delivered', 'read')) STORED,
  -- A person reads what the phone has, even while the vendor still repeats an earlier receipt.
  is_readable boolean GENERATED ALWAYS AS (state IN ('delivered', 'read')
    OR state = 'sent' AND NOT is_told AND 'undelivered' <> ALL(faults)) STORED);
CREATE TEMP TABLE unnamed_code (attempt_id uuid, message_id uuid, phone text, code text, n int);
CREATE TEMP TABLE client_order (key text, company_id bigint, path text, phone text);
CREATE TEMP TABLE client_call (
  key text, status int, code text, message_id uuid, body text, is_replayed boolean,
  seconds float, at float,
  -- repeated to a caller that repeats the call: refusals before the effect are not
  is_kept boolean GENERATED ALWAYS AS (status = 200 OR message_id IS NOT NULL) STORED);
CREATE TEMP TABLE client_entry (
  person text, key text, try text, company_id bigint, phone text, is_correct boolean, status int,
  code text, verification_id uuid, seconds float, at float);

--: indexes
CREATE INDEX ON phone_message (phone); CREATE INDEX ON phone_message (message_id);
CREATE INDEX ON phone_message (attempt_id); CREATE INDEX ON client_order (company_id, phone);
CREATE INDEX ON client_call (key); CREATE INDEX ON client_call (message_id);
CREATE INDEX ON client_entry (person); CREATE INDEX ON client_entry (phone);

--: by reference
UPDATE phone_message SET attempt_id = attempt.id, message_id = attempt.message_id
FROM channels_attempt attempt
WHERE attempt.id = phone_message.ref AND attempt.provider = phone_message.provider

--: by name
UPDATE phone_message SET attempt_id = attempt.id, message_id = attempt.message_id
FROM channels_attempt attempt
WHERE phone_message.ref IS NULL AND phone_message.provider = 'telegram_bot'
  AND attempt.provider = phone_message.provider
  AND substring(attempt.provider_id FROM ':([^:]*:[^:]*)$')
    = ltrim(phone_message.phone, '+') || ':' || phone_message.provider_id

--: by centre id: stored without leading zeros
UPDATE phone_message SET attempt_id = attempt.id, message_id = attempt.message_id
FROM channels_attempt attempt
WHERE phone_message.provider = 'smpp' AND attempt.provider = 'smpp'
  AND attempt.provider_id = ltrim(phone_message.provider_id, '0')

--: by link
UPDATE phone_message SET message_id = message.id, attempt_id = (
  SELECT attempt.id FROM channels_attempt attempt
  WHERE attempt.message_id = message.id AND attempt.provider = phone_message.provider
  ORDER BY attempt.state = 'delivered' DESC, attempt.n LIMIT 1)
FROM channels_message message
WHERE phone_message.ref IS NULL AND phone_message.attempt_id IS NULL
  AND message.phone = phone_message.phone
  AND message.params ->> 'short_url' = ANY(phone_message.links)

--: unnamed: attempts whose answer was lost, and what their codes are derived from
SELECT attempt.id, message.id, message.phone, message.subject_id, message.params ->> 'key',
  (message.params ->> 'length')::int
FROM channels_attempt attempt JOIN channels_message message ON message.id = attempt.message_id
WHERE attempt.provider IN ('telegram_bot', 'smpp') AND attempt.provider_id IS NULL
  AND message.content = 'code' AND message.params ? 'key'
ORDER BY attempt.started_at, attempt.id

--: by code
UPDATE phone_message SET attempt_id = unnamed_code.attempt_id, message_id = unnamed_code.message_id
FROM unnamed_code, (
  SELECT id, row_number() OVER (PARTITION BY phone, code ORDER BY id) AS n FROM phone_message
  WHERE ref IS NULL AND attempt_id IS NULL AND provider IN ('telegram_bot', 'smpp')) came
WHERE came.id = phone_message.id AND unnamed_code.phone = phone_message.phone
  AND unnamed_code.code = phone_message.code AND unnamed_code.n = came.n

--: phones
SELECT id, provider, provider_id, ref, phone, links, code, state, extra, pending FROM messages

--: orders
SELECT key, company_id, path, phone FROM orders

--: calls
SELECT key, status, code, message, body, replayed, seconds, at FROM calls

--: entries
SELECT person, key, try, company_id, phone, is_correct, status, code, verification, seconds, at
FROM entries
