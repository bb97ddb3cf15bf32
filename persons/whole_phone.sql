-- Messages to other people in which the text {name} is the whole phone, their events, and the
-- answers to these, which may quote them. A phone within a longer text, or in the metadata, is the
-- company's own text: no index finds it.
WITH named AS (
  SELECT id FROM channels_message
  WHERE company_id IN (SELECT id FROM accounts_company
      WHERE %(company_id)s::bigint IS NULL OR id = %(company_id)s)
    AND mode IN ('live', 'test') AND (%(mode)s = '' OR mode = %(mode)s)
    AND {name} <> '' AND {name} = ANY(%(whole_phones)s)
    AND (%(until)s::timestamptz IS NULL OR created_at <= %(until)s)
  ORDER BY id FOR NO KEY UPDATE),
changed AS (
  UPDATE channels_message message SET {name} = '' FROM named WHERE message.id = named.id
  RETURNING message.id, company_id, mode, subject_id),
events AS (
  UPDATE webhooks_event event SET data = event.data || jsonb_build_object('{name}', NULL)
  FROM changed
  WHERE event.company_id = changed.company_id AND event.mode = changed.mode
    AND event.data ->> '{name}' IS NOT NULL
    AND event.key IN ({message_key}, {verification_key})
  RETURNING event.id),
responses AS (
  UPDATE webhooks_deliveryattempt SET response = '' WHERE response <> '' AND delivery_id IN (
    SELECT id FROM webhooks_delivery WHERE event_id IN (SELECT id FROM events)))
SELECT FROM changed
