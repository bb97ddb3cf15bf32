-- Stores receipts in one commit; returns the digests of new ones. Unless {stores_known}, skips
-- `sent` receipts of attempts that are already marked sent. {recipients} stores who received the
-- messages, if the vendor reports it.
WITH stored AS (
  INSERT INTO channels_receipt
    (provider, digest, provider_id, alternatives, phone, needs_phone, ref, state, vendor_status,
     error_code, error_detail, at, raw)
  SELECT provider, digest, provider_id, alternatives, phone, needs_phone, ref, state, vendor_status,
    error_code, error_detail, at, raw
  FROM (
    SELECT * FROM json_to_recordset(%(receipts)s::json) AS given(
      provider text, digest bytea, provider_id text, alternatives text[], phone text,
      needs_phone bool, ref uuid, state text, vendor_status text, error_code text,
      error_detail text, at timestamptz, raw bytea)
    LIMIT json_array_length(%(receipts)s::json)) AS given
  WHERE {stores_known} OR NOT (
    state = 'sent' AND given.phone = '' AND given.alternatives = '{}' AND EXISTS (
      SELECT FROM channels_attempt attempt
      WHERE attempt.provider = given.provider AND attempt.provider_id = given.provider_id
        AND attempt.state NOT IN ('submitting', 'ambiguous')
        AND attempt.message_id BETWEEN :first_id AND :last_id))
  ON CONFLICT DO NOTHING RETURNING digest){recipients}
SELECT digest FROM stored
