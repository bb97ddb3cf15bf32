-- Erases data of the service itself about one person, for all companies, in this order: `alerts`
-- reads rows that `vendor_user_ids` deletes. The names are those of the counts.

--: alerts
DELETE FROM channels_provideralert WHERE position(%(digits)s IN detail) > 0
  OR detail IN (SELECT user_id FROM channels_knownrecipient WHERE attempt_id = ANY(%(attempts)s))

--: vendor_user_ids
DELETE FROM channels_knownrecipient WHERE attempt_id = ANY(%(attempts)s)

-- A call about another system's message may mention our messages to other people too.
--: unmatched_receipts
WITH unmatched AS (
  SELECT id, provider, received_at FROM channels_receipt WHERE attempt_id IS NULL
    AND (phone = %(phone)s OR position(%(digits)s::bytea IN raw) > 0)
    AND (%(until)s::timestamptz IS NULL OR received_at <= %(until)s)),
bodies AS (
  UPDATE channels_receipt SET raw = ''
  WHERE attempt_id IS NOT NULL AND position(%(digits)s::bytea IN raw) > 0
    AND (provider, received_at) IN (SELECT provider, received_at FROM unmatched))
DELETE FROM channels_receipt WHERE (id, received_at) IN (SELECT id, received_at FROM unmatched)

--: bot_contacts
DELETE FROM channels_contact WHERE phone = %(phone)s
  AND (%(until)s::timestamptz IS NULL OR shared_at <= %(until)s)

--: admin_log
UPDATE django_admin_log SET object_repr = replace(object_repr, %(phone)s, %(anonymised)s),
  change_message = replace(change_message, %(phone)s, %(anonymised)s)
WHERE position(%(phone)s IN object_repr) > 0 OR position(%(phone)s IN change_message) > 0
